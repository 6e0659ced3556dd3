// An API server with the built-in kinds and its controllers, for clients in other languages: prints the path of its
// kubeconfig and serves until standard input ends.
import { startTestServer } from "../../packages/standalone/src/apiserver/testing/test-server.ts";

const server = await startTestServer();
process.stdout.write(`${server.api.kubeconfig}\n`);
process.stdin.resume();
process.stdin.once("end", () => void server.stop());
