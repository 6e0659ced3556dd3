/** Where a flaw is shown not to be ours: a file below packages/, and the title of its test, or a part of it. */
export interface Shown {
  flaw: string;
  file: string;
  test: string;
}

const OTHERS = "sidecars/src/volume-group/others-flaws.test.ts";
const MEMBERS = "sidecars/src/volume-group/membership.test.ts";
const ENDING = "sidecars/src/volume-group/ending.test.ts";
const IMPORTED = "sidecars/src/volume-group/imported.test.ts";
const PAST = "sidecars/src/volume-group/past-trouble.test.ts";
const CRASH = "sidecars/src/volume-group/crash.test.ts";
const RULES = "standalone/src/crd/volume-group-rules.test.ts";

/** A row of such a table. */
export const shown = (flaw: string, file: string, test: string): Shown => ({ flaw, file, test });

/** What an operator for volume groups can get wrong, as others have: each has a test that fails for a build that does. */
export const FLAWS: Readonly<Record<string, Shown>> = {
  F1: shown("claims of other namespaces are taken", OTHERS, "groups of two namespaces"),
  F2: shown("one claim without a class stops every group", OTHERS, "claims without a class"),
  F3: shown("an imported group without a selector is a crash", IMPORTED, "a group that exists is brought in"),
  F4: shown("two groups that want one claim both fail", MEMBERS, "a claim stays with the group that has it"),
  F5: shown(
    "claims are deleted although the policy is Retain",
    ENDING,
    "with Retain the group stays as it is",
  ),
  F6: shown("every second claim is forgotten at the end", OTHERS, "every claim of a group goes with it"),
  F7: shown(
    "claims of a retained group can never be deleted",
    ENDING,
    "with Retain the group stays as it is",
  ),
  F8: shown(
    "whole objects in the status, and a call at every read",
    OTHERS,
    "a full group is a small object",
  ),
  F9: shown("equal names in two namespaces are a difference", OTHERS, "groups of two namespaces"),
  F10: shown("a claim is protected after its volume has joined", OTHERS, "a claim is protected before"),
  F11: shown("the creation time is that of the last read", OTHERS, "a group's creation time, its spec"),
  F12: shown(
    "the user's spec is written, and a lost content is not repaired",
    ENDING,
    "whose content was torn out",
  ),
  F13: shown("without class and secret nothing can end", ENDING, "when its class and its secret are gone"),
  F14: shown("an absent policy is a crash", RULES, "a content without a policy, and all else"),
  F15: shown("nobody sees what others change on the storage side", IMPORTED, "drift is seen by"),
  F16: shown("what is waited for is polled, by failing", OTHERS, "what a group waits for wakes it"),
  F17: shown("an event at every read", OTHERS, "a group's creation time, its spec and its events"),
  F18: shown("a group is known by its name alone", OTHERS, "a group that has the name of an earlier one"),
  F19: shown("the group is gone before its content", ENDING, "a group that is in use is asked for again"),
  F20: shown("a conflict overwrites what others have written", OTHERS, "what others write on the group"),
  F21: shown(
    "the role lacks rights",
    "sidecars/src/volume-group/rights.test.ts",
    "the rights that are listed",
  ),
  F22: shown("a lost PersistentVolume takes its volume out", MEMBERS, "a claim without its PersistentVolume"),
  F23: shown("the group's id stands where users write", OTHERS, "which group on the storage system is meant"),
  F24: shown("no limit, no conditions, an error for ever", PAST, "what a call failed with is gone"),
};

/** More of the same kinds: the second half of a flaw, or a way to it by a crash. */
export const MORE: readonly Shown[] = [
  shown("F10, by a crash", CRASH, "the next life has the same members"),
  shown("F12, the spec", OTHERS, "its spec and its events stay as they are"),
  shown("F24, of a request that is past", PAST, "a call that failed for a claim which has left"),
  shown("F24, the limit and the reasons", MEMBERS, "claims that cannot be members each have a reason"),
];
