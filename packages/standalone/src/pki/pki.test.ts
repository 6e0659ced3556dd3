import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createSecureContext } from "node:tls";
import { parse } from "yaml";
import { writeKubeconfig } from "./kubeconfig.ts";
import { ensurePki, isRenewalDue, serverNames } from "./pki.ts";

const DAY_MS = 24 * 3600_000;
const NAMES = serverNames("127.0.0.1");

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "mooring-pki-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return join(path, "pki");
}

test("secrets are made once and are readable by nobody else", async (t) => {
  const path = await folder(t);
  const first = await ensurePki(path, NAMES);
  assert.deepEqual(await ensurePki(path, NAMES), first);
  for (const file of await readdir(path))
    assert.equal((await stat(join(path, file))).mode & 0o777, 0o600, file);
  const cert = new X509Certificate(first.server.cert);
  for (const name of ["localhost", "kubernetes.default.svc"]) assert.ok(cert.checkHost(name));
  for (const address of ["127.0.0.1", "::1"]) assert.ok(cert.checkIP(address));
  assert.ok(cert.verify(new X509Certificate(first.caPem).publicKey));
});

test("a kubeconfig that is right is not written again, and one that others can read is", async (t) => {
  const path = join(await folder(t), "kubeconfig");
  const input = { url: "https://127.0.0.1:1", caPem: "ca", token: "token" };
  await writeKubeconfig(path, input);
  const { ino } = await stat(path);
  await writeKubeconfig(path, input);
  assert.equal((await stat(path)).ino, ino);
  await chmod(path, 0o644);
  await writeKubeconfig(path, input);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  await writeKubeconfig(path, { ...input, url: "https://127.0.0.1:2" });
  assert.equal(parse(await readFile(path, "utf8")).clusters[0].cluster.server, "https://127.0.0.1:2");
});

test("the server's certificate is renewed a month before it ends, the authority stays", async (t) => {
  const path = await folder(t);
  const first = await ensurePki(path, NAMES);
  const soon = await ensurePki(path, NAMES, new Date(Date.now() + 300 * DAY_MS));
  assert.equal(soon.server.cert, first.server.cert);
  const late = await ensurePki(path, NAMES, new Date(Date.now() + 340 * DAY_MS));
  assert.notEqual(late.server.cert, first.server.cert);
  assert.deepEqual([late.caPem, late.token], [first.caPem, first.token]);
  const end = await ensurePki(path, NAMES, new Date(Date.now() + 3640 * DAY_MS));
  assert.notEqual(end.caPem, first.caPem);
});

test("when the clock is put back the server has a certificate that is good then, from an authority that was before", async (t) => {
  const path = await folder(t);
  const first = await ensurePki(path, NAMES);
  const then = new Date(Date.now() - 3 * 365 * DAY_MS);
  assert.deepEqual([isRenewalDue(first), isRenewalDue(first, then)], [false, true]);
  const back = await ensurePki(path, NAMES, then);
  assert.equal(back.caPem, first.caPem);
  for (const pem of [back.server.cert, back.caPem])
    assert.ok(Date.parse(new X509Certificate(pem).validFrom) < then.getTime());
  assert.equal(isRenewalDue(back, then), false);
  assert.equal(isRenewalDue(back), true);
});

test("a certificate that lacks a name, or is damaged, is made anew", async (t) => {
  const path = await folder(t);
  const first = await ensurePki(path, NAMES);
  const more = await ensurePki(path, serverNames("192.0.2.7"));
  assert.notEqual(more.server.cert, first.server.cert);
  assert.ok(new X509Certificate(more.server.cert).checkIP("192.0.2.7"));
  await writeFile(join(path, "server.crt"), "nonsense");
  assert.ok(new X509Certificate((await ensurePki(path, NAMES)).server.cert).checkHost("localhost"));
});

test("a process that ends between the new key and its certificate leaves nothing that keeps the server from starting", async (t) => {
  const path = await folder(t);
  const first = await ensurePki(path, NAMES);
  // Another address was to be added; then the old addresses are enough again.
  const { key } = (await ensurePki(path, serverNames("192.0.2.7"))).server;
  await writeFile(join(path, "server.crt"), first.server.cert);
  await writeFile(join(path, "server.key"), key);
  const { server } = await ensurePki(path, NAMES);
  createSecureContext(server);
  assert.deepEqual((await ensurePki(path, NAMES)).server, server, "it stays");
});

test("a server's key that is damaged is made anew with its certificate", async (t) => {
  const path = await folder(t);
  const first = await ensurePki(path, NAMES);
  const other = await ensurePki(await folder(t), NAMES);
  for (const key of ["", "nonsense", other.server.key]) {
    await writeFile(join(path, "server.key"), key);
    const { caPem, server } = await ensurePki(path, NAMES);
    assert.equal(caPem, first.caPem);
    assert.ok(new X509Certificate(server.cert).checkPrivateKey(createPrivateKey(server.key)));
  }
});

test("an authority that is damaged is never replaced: the error names the file and the way out", async (t) => {
  const path = await folder(t);
  const first = await ensurePki(path, NAMES);
  const other = await ensurePki(await folder(t), NAMES);
  const flipped = first.caPem.replace(/(?<=CERTIFICATE-----\n.{90}).{4}/s, "AAAA");
  const damages: [string, string | undefined, RegExp][] = [
    ["ca.key", undefined, /ca\.key is missing/],
    ["ca.key", "", /ca\.key is not the key of ca\.crt/],
    ["ca.key", other.authority.key, /ca\.key is not the key of ca\.crt/],
    ["ca.crt", undefined, /ca\.crt is missing/],
    ["ca.crt", "nonsense", /ca\.crt is no certificate/],
    ["ca.crt", other.caPem, /ca\.key is not the key of ca\.crt/],
    ["ca.crt", flipped, /ca\.(crt|key) is (no certificate|not)/],
  ];
  for (const [name, text, message] of damages) {
    const file = join(path, name);
    const before = await readFile(file, "utf8");
    if (text === undefined) await rm(file);
    else await writeFile(file, text);
    await assert.rejects(ensurePki(path, NAMES), (error: Error & { hint?: string }) => {
      assert.match(error.message, message);
      assert.match(
        error.hint ?? "",
        /put it back from a copy .*; without one remove \S+ca\.crt and \S+server\.crt/,
      );
      return true;
    });
    await writeFile(file, before, { mode: 0o600 });
    assert.deepEqual(await ensurePki(path, NAMES), first);
  }
  // The way out.
  await rm(join(path, "ca.crt"));
  await rm(join(path, "server.crt"));
  assert.notEqual((await ensurePki(path, NAMES)).caPem, first.caPem);
});

test("a kubeconfig names server, authority and user", async (t) => {
  const path = join(await folder(t), "kubeconfig");
  await writeKubeconfig(path, { url: "https://127.0.0.1:6443", caPem: "pem", token: "secret" });
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const config = parse(await readFile(path, "utf8"));
  assert.equal(config["current-context"], "mooring");
  assert.equal(config.clusters[0].cluster.server, "https://127.0.0.1:6443");
  assert.equal(config.users[0].user.token, "secret");
});
