import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import { isOutcome, type VolumeGroupSnapshotContent } from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import {
  FROZEN_GROUP_PARAMETERS,
  GROUP_BEING_CREATED,
  GROUP_BEING_DELETED,
  GROUP_CONTENT_FINALIZER,
} from "../common/names.ts";
import { decideContent } from "../content/decide.ts";
import type { ContentResult, ContentStep } from "../content/kind.ts";
import { DRIVER, groupContent } from "../testing/objects.ts";
import { GROUP_CONTENT } from "./kind.ts";
import { statusAfter } from "./status.ts";
import type { StorageGroup } from "./storage-group.ts";
import type { GroupContentTypes } from "./types.ts";

type Outcome = "ok" | "not-ready" | "faulty" | "lost" | "timeout" | "refused";
type Action = { do: "step"; outcome: Outcome } | { do: "crash" | "delete" | "drop-infos" | "drop-pairs" };

/** One content and one storage system; every crash forgets what is only in memory. */
class World {
  content: VolumeGroupSnapshotContent | undefined = groupContent(
    "content",
    {},
    {
      finalizers: [GROUP_CONTENT_FINALIZER],
      annotations: { [GROUP_BEING_CREATED]: "yes", [FROZEN_GROUP_PARAMETERS]: "{}" },
    },
  );
  result: ContentResult<GroupContentTypes> | undefined;
  mayExist = false;
  /** Names under which a group was made. */
  readonly names = new Set<string>();
  exists = false;

  step(outcome: Outcome): boolean {
    const { result, content, mayExist } = this;
    const step = decideContent(GROUP_CONTENT, {
      driver: DRIVER,
      content,
      contentClass: undefined,
      namePrefix: "groupsnapshot",
      result,
      mayExist,
      backoffMs: 0,
    });
    if (isOutcome(step) || content === undefined) return false;
    this.#apply(step, content, outcome);
    return true;
  }

  #apply(step: ContentStep<GroupContentTypes>, content: VolumeGroupSnapshotContent, outcome: Outcome): void {
    const { metadata } = content;
    const annotate = (annotations: Record<string, string>) => {
      this.content = { ...content, metadata: { ...metadata, annotations } };
      this.result = undefined;
    };
    const { [GROUP_BEING_CREATED]: _gone, ...others } = metadata.annotations ?? {};
    switch (step.do) {
      case "mark-being-created":
        annotate({ ...others, [GROUP_BEING_CREATED]: "yes" });
        break;
      case "clear-being-created":
        this.mayExist = false;
        annotate(others);
        break;
      case "create-data":
        this.names.add(step.request.name);
        this.#create(content, outcome);
        break;
      case "inspect-data":
        assert.deepEqual(step.target.snapshotIds, ["s1", "s2"], "the driver gets all members");
        this.#respond(outcome, false);
        break;
      case "delete-data":
        assert.equal(step.target.groupSnapshotId, "g");
        assert.ok(step.target.snapshotIds.length > 0, "never to delete nothing");
        if (outcome !== "refused") this.exists = false;
        if (outcome === "ok" || outcome === "not-ready") this.result = { kind: "removed" };
        return;
      case "release":
        this.content = undefined;
        return;
      case "write-status":
        this.content = { ...content, status: statusAfter(content, step.data, step.fault) };
        this.result = undefined;
        return;
      default:
        return;
    }
  }

  #create(content: VolumeGroupSnapshotContent, outcome: Outcome): void {
    assert.ok(
      content.metadata.annotations?.[GROUP_BEING_CREATED] !== undefined ||
        content.status?.volumeGroupSnapshotHandle !== undefined,
      "before a call that may make a group, it is written down",
    );
    if (outcome !== "refused" && outcome !== "timeout") this.exists = true;
    this.#respond(outcome, true);
  }

  #respond(outcome: Outcome, creates: boolean): void {
    if (outcome === "ok" || outcome === "not-ready" || outcome === "faulty") {
      this.result = { kind: "data", data: groupAs(outcome) };
      return;
    }
    if (creates && outcome !== "refused") this.mayExist = true;
    const code = outcome === "refused" ? Code.INTERNAL : Code.UNAVAILABLE;
    this.result = { kind: "failed", failure: { code, message: "x" } };
  }

  act(action: Action): void {
    if (action.do === "step") this.step(action.outcome);
    else if (action.do === "crash") {
      this.result = undefined;
      this.mayExist = this.content?.metadata.annotations?.[GROUP_BEING_CREATED] !== undefined;
    } else if (action.do === "drop-infos" || action.do === "drop-pairs") {
      this.#drop(action.do === "drop-infos" ? "volumeSnapshotInfoList" : "volumeSnapshotHandlePairList");
    } else if (this.content !== undefined) {
      const { metadata } = this.content;
      const annotations = { ...metadata.annotations, [GROUP_BEING_DELETED]: "yes" };
      this.content = { ...this.content, metadata: { ...metadata, annotations, deletionTimestamp: "t" } };
    }
  }

  /** A client of a version without the field reads the status and writes it back. */
  #drop(field: "volumeSnapshotInfoList" | "volumeSnapshotHandlePairList"): void {
    if (this.content?.status === undefined) return;
    const { [field]: _unknown, ...status } = this.content.status;
    this.content = { ...this.content, status };
  }

  settle(): void {
    for (let steps = 0; this.step("ok"); steps += 1) assert.ok(steps < 30, "the steps do not end");
  }
}

function groupAs(outcome: "ok" | "not-ready" | "faulty"): StorageGroup {
  const member = (index: number) => ({
    volumeHandle: `vol-${index}`,
    snapshotHandle: `s${index}`,
    readyToUse: outcome === "ok" || index === 1,
  });
  // The worst that a driver can say of a group that is not ready: that it is.
  return { handle: "g", ready: true, members: outcome === "faulty" ? [member(1)] : [member(1), member(2)] };
}

const outcome = fc.constantFrom<Outcome>("ok", "not-ready", "faulty", "lost", "timeout", "refused");
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 10, arbitrary: outcome.map((each): Action => ({ do: "step", outcome: each })) },
  { weight: 3, arbitrary: fc.constant<Action>({ do: "crash" }) },
  { weight: 1, arbitrary: fc.constantFrom<Action>({ do: "drop-infos" }, { do: "drop-pairs" }) },
  { weight: 1, arbitrary: fc.constant<Action>({ do: "delete" }) },
);

test("whatever happens between the steps: a group is whole and ready in the end, or gone with its data, under one name", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
      const world = new World();
      for (const each of actions) {
        world.act(each);
        const { status } = world.content ?? {};
        if (status?.readyToUse === true)
          assert.ok((status.volumeSnapshotInfoList ?? []).every(({ readyToUse }) => readyToUse === true));
      }
      world.settle();
      assert.ok(world.names.size <= 1);
      if (world.content === undefined) assert.equal(world.exists, false, "no data is left behind");
      else {
        assert.equal(world.content.status?.readyToUse, true);
        assert.equal(world.content.status?.volumeSnapshotInfoList?.length, 2);
        assert.notEqual(world.content.status?.volumeGroupSnapshotHandle, undefined);
      }
    }),
    { numRuns: howMany({ everyday: 3_000, full: 20_000 }) },
  );
});
