import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { CsiError } from "../errors/csi-error.ts";
import { BlockMetadataType } from "../gen/snapshotmetadata/snapshotmetadata_pb.ts";
import type { Logger } from "../log/logger.ts";
import { connectSnapshotMetadata } from "./connect.ts";
import { type CertifiedKey, serveSnapshotMetadata } from "./serve.ts";

const execute = promisify(execFile);

/** A certificate that is its own authority. */
async function certificate(t: TestContext, name: string): Promise<CertifiedKey> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-tls-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const names = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost"];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await execute("openssl", ["req", "-x509", ...curve, ...names, "-keyout", key, "-out", cert]);
  return { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") };
}

async function all<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const message of messages) found.push(message);
  return found;
}

const request = { securityToken: "hunter2", namespace: "n", snapshotName: "s" };
const range = { byteOffset: 4096n, sizeBytes: 8192n };
const message = {
  ...{ blockMetadataType: BlockMetadataType.VARIABLE_LENGTH, volumeCapacityBytes: 1n << 40n },
  blockMetadata: [range],
};

test("messages go through by TLS; a new certificate is for new connections; tokens are in no log", async (t) => {
  const [first, second] = [await certificate(t, "first"), await certificate(t, "second")];
  const lines: string[] = [];
  const note = (fields: object, text: string) => void lines.push(text + JSON.stringify(fields));
  const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
  const server = await serveSnapshotMetadata(
    {
      async *getMetadataAllocated() {
        yield message;
        yield message;
      },
      // biome-ignore lint/correctness/useYield: it refuses
      async *getMetadataDelta() {
        throw CsiError.permissionDenied("not for you");
      },
    },
    { host: "127.0.0.1", port: 0, tls: first, logger },
  );
  t.after(() => server.close());
  const address = `localhost:${server.port}`;
  const clients = [first, second].map(({ cert }) => connectSnapshotMetadata(address, cert));
  t.after(() => {
    for (const client of clients) client.close();
  });
  const [known, other] = clients;
  assert.ok(known && other);
  const received = await all(known.getMetadataAllocated(request));
  assert.equal(received.length, 2);
  assert.deepEqual(
    { ...received[0]?.blockMetadata[0], $typeName: undefined },
    { ...range, $typeName: undefined },
  );
  await assert.rejects(all(known.getMetadataDelta({ ...request, baseSnapshotId: "b" })), {
    codeName: "PERMISSION_DENIED",
  });
  await assert.rejects(all(other.getMetadataAllocated(request)), { codeName: "UNAVAILABLE" });
  assert.throws(() => server.setCertificate({ ...second, key: first.key }));
  server.setCertificate(second);
  const renewed = connectSnapshotMetadata(address, second.cert);
  t.after(() => renewed.close());
  assert.equal((await all(renewed.getMetadataAllocated(request))).length, 2);
  // Its connection is open since before.
  assert.equal((await all(known.getMetadataAllocated(request))).length, 2);
  assert.ok(lines.some((line) => line.includes("not for you")));
  assert.ok(lines.every((line) => !line.includes("hunter2")));
});

test("an end ends calls under way, and connections that have said nothing", async (t) => {
  const tls = await certificate(t, "first");
  const server = await serveSnapshotMetadata(
    {
      async *getMetadataAllocated(_, { signal }) {
        yield message;
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    },
    { host: "127.0.0.1", port: 0, tls },
  );
  const client = connectSnapshotMetadata(`localhost:${server.port}`, tls.cert);
  t.after(() => client.close());
  const silent = connect(server.port, "127.0.0.1");
  silent.on("error", () => {});
  const stream = client.getMetadataAllocated(request)[Symbol.asyncIterator]();
  await stream.next();
  const ended = assert.rejects(stream.next());
  await server.close();
  await ended;
});
