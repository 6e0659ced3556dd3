import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { test } from "node:test";
import { thorough } from "@mooring/store/testing";
import { world } from "../support/world.ts";

const args = ["--max-watches=3", "--max-watches-per-user=2", "--max-connections=20"];
const { up, kubectl } = await world({ args: [...args, "--max-connections-per-user=10"] });

test("users have as many watches open as mooring up was configured for", thorough(), async (t) => {
  await kubectl.run(
    "create",
    "clusterrolebinding",
    "all",
    "--clusterrole=view",
    "--group=system:serviceaccounts",
  );
  const text = await readFile(up.kubeconfig, "utf8");
  const field = (name: string): string => new RegExp(`${name}: ["']?([^\\s"']+)`).exec(text)?.[1] ?? "";
  const ca = Buffer.from(field("certificate-authority-data"), "base64");
  const watch = async (token: string): Promise<IncomingMessage> => {
    const sent = request(`${field("server")}/api/v1/namespaces/default/configmaps?watch=true`, {
      ...{ agent: false, ca, headers: { authorization: `Bearer ${token}` } },
    });
    t.after(() => sent.destroy());
    sent.on("error", () => {});
    const [response] = (await once(sent.end(), "response")) as [IncomingMessage];
    response.on("error", () => {});
    return response.resume();
  };
  const [greedy, modest] = await Promise.all(
    ["greedy", "modest"].map(async (name) => {
      await kubectl.run("create", "serviceaccount", name);
      return (await kubectl.run("create", "token", name)).trim();
    }),
  );
  const first = await watch(greedy ?? "");
  assert.equal(first.statusCode, 200);
  assert.equal((await watch(greedy ?? "")).statusCode, 200);
  assert.equal((await watch(greedy ?? "")).statusCode, 429, "a third one of one user");
  assert.equal((await watch(modest ?? "")).statusCode, 200);
  const ended = once(first, "close");
  assert.equal((await watch(modest ?? "")).statusCode, 200, "a fourth one of all");
  await ended;
});
