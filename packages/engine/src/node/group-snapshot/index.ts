import { type Outcome, Reconciler, source, stepFailpoints } from "@mooring/store";
import { failure } from "../../refused.ts";
import type { AgentContext } from "../context.ts";
import type { AgentInformers } from "../controllers.ts";
import { readContext } from "../read-context.ts";
import { applyGroupStep } from "./apply.ts";
import { decide, type GroupStep, type GroupView } from "./decide.ts";
import { readGroup } from "./read.ts";

const failpoints = stepFailpoints<Exclude<GroupStep, Outcome>>("engine/group-snapshot", {
  drop: true,
  prepare: true,
  quiesce: true,
  copy: true,
  release: true,
  run: true,
  report: { prepared: true, quiesced: true, cut: true, done: true, failed: true },
});

/** Short, because what the agent waits for most often, the end of a mount, sends no event. */
const BACKOFF = { maxMs: 10_000 };

/** Takes this node's part of group snapshots as far as it can go. Failures are reported on the object. */
export function runGroups(context: AgentContext, { groups }: AgentInformers): Promise<void> {
  const reconciler = new Reconciler<GroupReading, GroupStep>({
    name: "node/group-snapshot",
    store: context.store,
    logger: context.logger,
    failpoints,
    backoff: BACKOFF,
    sources: [source(groups, ({ metadata }) => [metadata.name])],
    async read(name, { reader }) {
      const view = await readGroup(readContext(context, reader), name);
      return view === undefined ? undefined : { name, view };
    },
    decide: ({ view }) => decide(view),
    apply: (step, { name, view }) => applyGroupStep(context, step, name, view),
    errorOf: failure,
  });
  context.sessions.onExpired((name) => reconciler.add(name));
  context.pools.onOpened(() => {
    for (const { metadata } of groups.list()) reconciler.add(metadata.name);
  });
  return reconciler.run(context.signal);
}

interface GroupReading {
  name: string;
  view: GroupView;
}
