import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import { isOutcome, type VolumeSnapshotContent } from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { BEING_CREATED, BEING_DELETED, CONTENT_FINALIZER, FROZEN_PARAMETERS } from "../common/names.ts";
import { decideContent } from "../content/decide.ts";
import type { ContentResult, ContentStep } from "../content/kind.ts";
import { DRIVER, snapshotContent } from "../testing/objects.ts";
import { SNAPSHOT_CONTENT } from "./kind.ts";
import type { SnapshotContentTypes } from "./types.ts";

type Outcome = "ok" | "not-ready" | "lost" | "timeout" | "refused";
type Action = { do: "step"; outcome: Outcome } | { do: "crash" | "delete" };

/** One content and one storage system; every crash forgets what is only in memory. */
class World {
  content: VolumeSnapshotContent | undefined = snapshotContent(
    "content",
    {},
    { finalizers: [CONTENT_FINALIZER], annotations: { [BEING_CREATED]: "yes", [FROZEN_PARAMETERS]: "{}" } },
  );
  result: ContentResult<SnapshotContentTypes> | undefined;
  exists = false;
  mayExist = false;

  step(outcome: Outcome): boolean {
    const { content, result, mayExist } = this;
    const step = decideContent(SNAPSHOT_CONTENT, {
      driver: DRIVER,
      content,
      contentClass: undefined,
      namePrefix: "snapshot",
      result,
      mayExist,
      backoffMs: 0,
    });
    if (isOutcome(step) || content === undefined) return false;
    this.#apply(step, content, outcome);
    return true;
  }

  #apply(step: ContentStep<SnapshotContentTypes>, content: VolumeSnapshotContent, outcome: Outcome): void {
    const { metadata } = content;
    const annotate = (annotations: Record<string, string>) => {
      this.content = { ...content, metadata: { ...metadata, annotations } };
      this.result = undefined;
    };
    const { [BEING_CREATED]: _gone, ...others } = metadata.annotations ?? {};
    if (step.do === "mark-being-created") annotate({ ...others, [BEING_CREATED]: "yes" });
    if (step.do === "clear-being-created") {
      annotate(others);
      this.mayExist = false;
    }
    if (step.do === "create-data") this.#create(outcome);
    if (step.do === "delete-data") {
      if (outcome !== "refused") this.exists = false;
      if (outcome === "ok" || outcome === "not-ready") this.result = { kind: "removed" };
    }
    if (step.do === "release") this.content = undefined;
    if (step.do === "write-status") {
      const { handle, ready } = step.data;
      this.content = { ...content, status: { snapshotHandle: handle, readyToUse: ready } };
      this.result = undefined;
    }
  }

  #create(outcome: Outcome): void {
    assert.ok(
      this.content?.metadata.annotations?.[BEING_CREATED] !== undefined ||
        this.content?.status?.snapshotHandle !== undefined,
      "before a call that may make a snapshot, it is written down",
    );
    if (outcome === "ok" || outcome === "not-ready" || outcome === "lost") this.exists = true;
    if (outcome === "ok" || outcome === "not-ready")
      this.result = {
        kind: "data",
        data: { handle: "s", ready: outcome === "ok", creationTime: 1, sizeBytes: 1 },
      };
    else {
      const code = outcome === "refused" ? Code.INTERNAL : Code.UNAVAILABLE;
      if (outcome !== "refused") this.mayExist = true;
      this.result = { kind: "failed", failure: { code, message: "x" } };
    }
  }

  act(action: Action): void {
    if (action.do === "step") this.step(action.outcome);
    else if (action.do === "crash") {
      this.result = undefined;
      this.mayExist = this.content?.metadata.annotations?.[BEING_CREATED] !== undefined;
    } else if (this.content !== undefined) {
      const { metadata } = this.content;
      const annotations = { ...metadata.annotations, [BEING_DELETED]: "yes" };
      this.content = { ...this.content, metadata: { ...metadata, annotations, deletionTimestamp: "t" } };
    }
  }

  settle(): void {
    for (let steps = 0; this.step("ok"); steps += 1) assert.ok(steps < 30, "the steps do not end");
  }
}

const outcome = fc.constantFrom<Outcome>("ok", "not-ready", "lost", "timeout", "refused");
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 10, arbitrary: outcome.map((each): Action => ({ do: "step", outcome: each })) },
  { weight: 3, arbitrary: fc.constant<Action>({ do: "crash" }) },
  { weight: 1, arbitrary: fc.constant<Action>({ do: "delete" }) },
);

test("whatever happens between the steps: a content is ready in the end, or gone with its data", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
      const world = new World();
      for (const each of actions) world.act(each);
      world.settle();
      if (world.content === undefined) assert.equal(world.exists, false, "no data is left behind");
      else {
        assert.equal(world.content.status?.readyToUse, true);
        assert.equal(world.content.metadata.annotations?.[BEING_CREATED], undefined);
      }
    }),
    { numRuns: howMany({ everyday: 3_000, full: 20_000 }) },
  );
});
