import { Command } from "commander";
import { type ClientOptions, openNamespace } from "../client/client.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import type { Context } from "../why/context.ts";
import { explainAttachment } from "../why/explain-attachment.ts";
import { explainClaim } from "../why/explain-claim.ts";
import { explainEngineGroup, explainGroupRestore, explainGroupSnapshot } from "../why/explain-group.ts";
import { explainGroupRevert } from "../why/explain-group-revert.ts";
import { explainPod } from "../why/explain-pod.ts";
import { explainEngineSnapshot, explainSnapshot } from "../why/explain-snapshot.ts";
import { explainVolume } from "../why/explain-volume.ts";
import { type Finding, result } from "../why/finding.ts";
import { renderFinding } from "../why/render.ts";

type Explain = (context: Context, namespace: string, name: string) => Promise<Finding>;

/** Every name a kind may be called by. */
const KINDS: Readonly<Record<string, Explain>> = Object.fromEntries(
  (
    [
      [["pod", "pods", "po"], explainPod],
      [["persistentvolumeclaim", "persistentvolumeclaims", "pvc", "claim"], explainClaim],
      [["volumesnapshot", "volumesnapshots", "vs"], explainSnapshot],
      [["volumegroupsnapshot", "volumegroupsnapshots", "vgs"], explainGroupSnapshot],
      [["volumegrouprestore", "volumegrouprestores", "vgr"], explainGroupRestore],
      [["volumegrouprevert", "volumegroupreverts", "vgrv"], explainGroupRevert],
      [["groupsnapshot", "groupsnapshots"], (context, _, name) => explainEngineGroup(context, name)],
      [["volume", "volumes"], (context, _, name) => explainVolume(context, name)],
      [
        ["volumeattachment", "volumeattachments", "mva"],
        (context, _, name) => explainAttachment(context, name),
      ],
      [["snapshot", "snapshots"], (context, _, name) => explainEngineSnapshot(context, name)],
    ] satisfies [string[], Explain][]
  ).flatMap(([names, explain]) => names.map((name) => [name, explain])),
);

/** The names that help and errors give. */
const SHOWN = [
  "pod",
  "pvc",
  "volumesnapshot",
  "volumegroupsnapshot",
  "volumegrouprestore",
  "volumegrouprevert",
  "volume",
  "volumeattachment",
  "snapshot",
  "groupsnapshot",
];

interface WhyOptions extends ClientOptions {
  namespace?: string;
  json?: boolean;
}

async function why(target: string, options: WhyOptions): Promise<void> {
  const [kind = "", name, ...rest] = target.split("/");
  const explain = KINDS[kind.toLowerCase()];
  if (explain === undefined || name === undefined || name === "" || rest.length > 0) {
    throw new CommandError(`cannot explain ${JSON.stringify(target)}`, {
      next: `name it as KIND/NAME with one of: ${SHOWN.join(", ")}`,
    });
  }
  const { store, namespace } = await openNamespace(options);
  const root = await explain({ store }, namespace, name);
  process.stdout.write(options.json ? `${JSON.stringify(root, null, 2)}\n` : renderFinding(root));
  if (result(root) !== "ok") process.exitCode = EXIT.negative;
}

/** `mooring why KIND/NAME`: what an object waits for, down to the ticket or the error. */
export function whyCommand(): Command {
  return new Command("why")
    .description("say what an object waits for, down to the ticket or the error")
    .argument("<kind/name>", `${SHOWN.join(", ")}, and its name`)
    .option("-n, --namespace <name>", "namespace of the object (default: the kubeconfig's)")
    .option("--kubeconfig <file>", "how to reach the API server")
    .option("--json", "print the tree as JSON")
    .action(why);
}
