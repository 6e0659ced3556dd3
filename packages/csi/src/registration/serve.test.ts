import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { create, type DescMethod, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { Registration } from "../gen/pluginregistration/v1/api_pb.ts";
import { serveRegistration } from "./serve.ts";

const { getInfo, notifyRegistrationStatus } = Registration.method;

/** One call as the kubelet makes it. */
function call<M extends DescMethod>(client: Client, method: M, init: MessageInitShape<M["input"]>) {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      `/pluginregistration.Registration/${method.name}`,
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => fromBinary(method.output, bytes),
      toBinary(method.input, create(method.input, init)),
      { deadline: Date.now() + 30_000 },
      (error, response) => (error === null ? resolve(response) : reject(error)),
    );
  });
}

test("the kubelet gets name, socket and version of the driver, and its response reaches the plugin", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-registration-"));
  const path = join(folder, "csi.example.com-reg.sock");
  const statuses: unknown[] = [];
  const server = serveRegistration({
    ...{ endpoint: `unix://${path}`, driver: "csi.example.com", driverSocket: "/plugins/csi.sock" },
    onStatus: (...status) => statuses.push(status),
  });
  await server.start();
  const client = new Client(`unix:${path}`, credentials.createInsecure());
  t.after(async () => {
    client.close();
    await server.stop(0);
    await rm(folder, { recursive: true });
  });
  const { type, name, endpoint, supportedVersions } = (await call(client, getInfo, {})) as Record<
    string,
    unknown
  >;
  assert.deepEqual(
    { type, name, endpoint, supportedVersions },
    {
      ...{ type: "CSIPlugin", name: "csi.example.com", endpoint: "/plugins/csi.sock" },
      supportedVersions: ["1.0.0"],
    },
  );
  await call(client, notifyRegistrationStatus, { pluginRegistered: false, error: "no such node" });
  await call(client, notifyRegistrationStatus, { pluginRegistered: true });
  assert.deepEqual(statuses, [
    [false, "no such node"],
    [true, ""],
  ]);
});
