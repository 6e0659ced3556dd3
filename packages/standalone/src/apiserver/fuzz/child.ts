import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { HttpClient } from "../testing/http-client.ts";
import type { Collection } from "./requests.ts";
import type { Command, Report, ServerMessage } from "./talk.ts";

/** An API server in a process of its own, which watches its event loop. */
export interface FuzzServer {
  client: HttpClient;
  collections: Collection[];
  /** From here on stalls count. */
  begin(): void;
  report(): Promise<Report>;
  stop(): Promise<void>;
}

/** What it runs: `server.ts` and `measured-thread.ts`, each as one file. */
interface FuzzPrograms {
  program: string;
  thread: string;
}

/** Starts it in a process of its own. Large bodies are read as in this one. */
export async function startFuzzServer({ program, thread }: FuzzPrograms): Promise<FuzzServer> {
  const parseThread = process.env.MOORING_PARSE_THREAD;
  const child: ChildProcess = fork(program, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const send = (command: Command) => child.send(command);
  const receive = async <T extends ServerMessage>() => ((await once(child, "message")) as [T])[0];
  send({ do: "start", thread, parseThread });
  const up = await receive<Extract<ServerMessage, { is: "up" }>>();
  const client = new HttpClient(up);
  return {
    client,
    collections: up.collections,
    begin: () => void send({ do: "begin" }),
    report: () => {
      const reported = receive<Report>();
      send({ do: "report" });
      return reported;
    },
    stop: async () => {
      client.close();
      if (child.exitCode !== null) return;
      const end = once(child, "exit");
      send({ do: "stop" });
      await end;
    },
  };
}

/** Gives them every right, but not an administrator's exemptions. */
export async function bindUntrusted(client: HttpClient, names: readonly string[]): Promise<void> {
  const role = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" };
  const bound = await client.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    ...{ metadata: { name: "untrusted" }, roleRef: role },
    subjects: names.map((name) => ({ kind: "User", apiGroup: role.apiGroup, name })),
  });
  if (bound.status !== 201) throw new Error(bound.text);
}
