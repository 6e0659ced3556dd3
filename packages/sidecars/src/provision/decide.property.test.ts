import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  defined,
  isOutcome,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
} from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import type { Intent } from "../common/create-volume/intent.ts";
import { SELECTED_NODE } from "../common/names.ts";
import { claim, csiNode, driverInfo, node, persistentVolume, storageClass } from "../testing/objects.ts";
import { type CallResult, decideProvision, type ProvisionStep, type ProvisionView } from "./decide.ts";
import { PROVISION_DEFAULTS, plan } from "./plan.ts";

/**
 * A world without clocks and sockets: a claim, its record, a storage system. Random users and accidents act between
 * the steps; every crash forgets what is only in memory.
 */
type Action =
  | { do: "step"; outcome: Outcome }
  | { do: "crash" | "delete-claim" | "delete-class" | "lose-node" | "choose-node" };
type Outcome = "ok" | "lost" | "timeout" | "refused" | "full" | "small";

const DRIVER = driverInfo(["CREATE_DELETE_VOLUME"], { topology: true });
const CODES = {
  lost: Code.UNAVAILABLE,
  timeout: Code.DEADLINE_EXCEEDED,
  refused: Code.INTERNAL,
  full: Code.RESOURCE_EXHAUSTED,
};

class World {
  claim: PersistentVolumeClaim | undefined = claim(
    "data",
    {},
    { annotations: { ...claim("x").metadata.annotations, [SELECTED_NODE]: "n1" } },
  );
  storageClass: StorageClass | undefined = storageClass({ volumeBindingMode: "WaitForFirstConsumer" });
  nodes = ["n1", "n2"];
  record: Intent | undefined;
  volume: PersistentVolume | undefined;
  result: CallResult | undefined;
  /** The storage system: the one volume of that name, if any, and what it was asked with. */
  backend: { bytes: bigint; arguments: string } | undefined;
  made = 0;
  /** Whether a call was left without a clear result; every crash makes that so. */
  mayExist = false;

  view(): ProvisionView {
    const planned =
      this.record === undefined && this.claim !== undefined && this.storageClass !== undefined
        ? plan({
            claim: this.claim,
            storageClass: this.storageClass,
            driver: DRIVER,
            options: PROVISION_DEFAULTS,
            source: {},
            nodes: this.nodes.map((name) => node(name, { zone: name })),
            csiNodes: this.nodes.map((name) => csiNode(name, ["zone"])),
            attributesClass: undefined,
          })
        : undefined;
    return {
      driver: DRIVER,
      claim: this.claim,
      storageClass: this.storageClass,
      elsewhere: false,
      record: this.record,
      volume: this.volume,
      result: this.result,
      plan: planned,
      mayExist: this.mayExist,
      sourceProtected: true,
      backoffMs: 0,
    };
  }

  /** One step; false when there is nothing to do. */
  step(outcome: Outcome): boolean {
    const step = decideProvision(this.view());
    if (isOutcome(step)) return false;
    this.#apply(step, outcome);
    return step.do !== "report";
  }

  #apply(step: ProvisionStep, outcome: Outcome): void {
    switch (step.do) {
      case "save-intent":
        this.record = step.intent;
        return;
      case "create-volume":
        this.#create(step.intent, outcome);
        return;
      case "delete-volume":
        if (outcome !== "refused") this.backend = undefined;
        if (outcome !== "lost" && outcome !== "refused")
          this.result = { kind: "removed", ...defined({ error: step.error }) };
        return;
      case "create-pv": {
        const { uid, name, namespace } = step.intent.claim;
        assert.ok(this.backend, "an object is never made for a volume that is not there");
        const csi = { driver: DRIVER.name, volumeHandle: step.volume.handle };
        this.volume = persistentVolume(step.intent.arguments.name, {
          claimRef: { uid, name, namespace },
          csi,
        });
        return;
      }
      case "delete-intent":
        this.record = undefined;
        this.result = undefined;
        this.mayExist = false;
        return;
      case "reschedule":
        this.#setNode(undefined);
        return;
      default:
        return;
    }
  }

  #create(intent: Intent, outcome: Outcome): void {
    const fingerprint = JSON.stringify(intent.arguments);
    if (this.backend !== undefined)
      assert.equal(
        fingerprint,
        this.backend.arguments,
        "a call that may have had an effect is repeated unchanged",
      );
    const effect =
      this.backend !== undefined || outcome === "ok" || outcome === "lost" || outcome === "small";
    if (effect && this.backend === undefined) {
      this.backend = {
        bytes: outcome === "small" ? 1n : BigInt(intent.arguments.capacityRange.requiredBytes),
        arguments: fingerprint,
      };
      this.made += 1;
    }
    const { backend } = this;
    if (backend !== undefined && (outcome === "ok" || outcome === "small")) {
      const volume = {
        handle: `h${this.made}`,
        capacityBytes: String(backend.bytes),
        attributes: {},
        accessibleTopology: [],
        hasSource: false,
      };
      this.result = { kind: "created", volume };
      return;
    }
    // A driver may fail for any reason, but it never reports of what exists that there is no room for it.
    const failed =
      outcome === "ok" || outcome === "small" || (backend !== undefined && outcome === "full")
        ? "lost"
        : outcome;
    const code = CODES[failed];
    if (failed === "lost" || failed === "timeout") this.mayExist = true;
    this.result = { kind: "failed", failure: { code, message: "x" } };
  }

  #setNode(name: string | undefined): void {
    if (this.claim === undefined) return;
    const { [SELECTED_NODE]: _old, ...annotations } = this.claim.metadata.annotations ?? {};
    const chosen = name === undefined ? {} : { [SELECTED_NODE]: name };
    this.claim = {
      ...this.claim,
      metadata: { ...this.claim.metadata, annotations: { ...annotations, ...chosen } },
    };
  }

  act(action: Action): void {
    if (action.do === "step") this.step(action.outcome);
    else if (action.do === "crash") {
      this.result = undefined;
      this.mayExist = this.record !== undefined;
    } else if (action.do === "delete-claim") this.claim = undefined;
    else if (action.do === "delete-class") this.storageClass = undefined;
    else if (action.do === "lose-node") this.nodes = ["n2"];
    else if (this.claim?.metadata.annotations?.[SELECTED_NODE] === undefined) this.#setNode("n2");
  }

  /** No more accidents: everything that is begun comes to its end. */
  settle(): void {
    for (let steps = 0; this.step("ok"); steps += 1) assert.ok(steps < 30, "the steps do not end");
  }
}

const outcome = fc.constantFrom<Outcome>("ok", "lost", "timeout", "refused", "full", "small");
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 12, arbitrary: outcome.map((each): Action => ({ do: "step", outcome: each })) },
  { weight: 3, arbitrary: fc.constant<Action>({ do: "crash" }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Action>({ do: "delete-claim" }, { do: "delete-class" }, { do: "lose-node" }),
  },
  { weight: 2, arbitrary: fc.constant<Action>({ do: "choose-node" }) },
);

test("whatever happens between the steps: a claim has its one volume in the end, or nothing is left of it", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
      const world = new World();
      for (const each of actions) world.act(each);
      world.settle();
      assert.equal(world.record, undefined, "the record is closed");
      assert.equal(
        world.backend === undefined,
        world.volume === undefined,
        "a volume and its object exist together",
      );
      // An object whose claim has gone since is released, and reclaimed by its policy.
      if (world.claim !== undefined && world.storageClass !== undefined && world.volume === undefined)
        assert.equal(
          world.claim.metadata.annotations?.[SELECTED_NODE],
          undefined,
          "only the scheduler is waited for",
        );
    }),
    { numRuns: howMany({ everyday: 3_000, full: 20_000 }) },
  );
});
