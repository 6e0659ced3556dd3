import { authorityHash, createJoinToken } from "@mooring/standalone";
import { Command } from "commander";
import { type ClientOptions, openClient } from "../client/client.ts";
import { duration } from "../options/duration.ts";
import { nodeName } from "../options/node-settings.ts";
import { CommandError } from "../output/command-error.ts";
import { type Output, print, withOutput } from "../output/print.ts";

interface CreateOptions extends ClientOptions, Output {
  node?: string;
  /** Milliseconds. */
  expires: number;
}

async function create({ node, expires: milliseconds, ...options }: CreateOptions): Promise<void> {
  const store = await openClient(options);
  try {
    const { server, authority: ca } = store;
    if (ca === undefined) {
      throw new CommandError(
        "the kubeconfig names no certificate authority, which a token has to vouch for",
        {
          next: "use the kubeconfig that `mooring up` has written",
        },
      );
    }
    const expires = new Date(Date.now() + milliseconds);
    const bound = node === undefined ? {} : { nodeName: nodeName(node) };
    const token = await createJoinToken(store, { authority: authorityHash(ca), expires, ...bound });
    print(options, { token, server, expires: expires.toISOString(), ...bound }, () => `${token}\n`);
  } finally {
    store.close();
  }
}

/** `mooring token create`: lets one more machine in. */
export function tokenCommand(): Command {
  const root = new Command("token").description("let machines join");
  const command = root
    .command("create")
    .description(
      "print a token with which one machine may join, once: mooring node --join SERVER --token ...",
    )
    .option("--node <name>", "for this node only (default: for any new one)")
    .option("--expires <time>", "how long it is good for: 30m, 2h, 1d (default: 1h)", duration, 3_600_000)
    .option("--kubeconfig <file>", "how to reach the API server");
  withOutput(command, { what: "token, server and end" }).action(create);
  return root;
}
