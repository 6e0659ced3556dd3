import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createHost } from "@mooring/engine";
import { thorough } from "@mooring/store/testing";
import { Images } from "./images.ts";
import { digestOfBytes, layerOf } from "./testing/hostile-layout.ts";
import { endless, type HostileRegistry, hostileRegistry, type Respond } from "./testing/hostile-registry.ts";

const folder = await mkdtemp(join(tmpdir(), "hostile-registry-"));
const stop = new AbortController();
const CACHE = join(folder, "images");
const images = new Images({
  ...{ host: createHost(), folder: CACHE, secrets: join(folder, "secrets") },
  ...{ hidden: async () => [], inUse: () => [], signal: stop.signal },
});
after(async () => {
  stop.abort();
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
});

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const LAYER = layerOf([{ name: "file", body: "x" }]);
const MIB = 1 << 20;

interface Parts {
  config: string;
  manifest: string;
}

let serial = 0;

/** A whole image of one layer that nobody has pulled yet; `size` is what its manifest claims of the layer. */
function imageParts(size = LAYER.length): Parts {
  serial += 1;
  const config = JSON.stringify({
    ...{ architecture: "amd64", os: "linux", config: { Labels: { serial: `${serial}` } } },
    rootfs: { type: "layers", diff_ids: [digestOfBytes(LAYER)] },
  });
  const manifest = JSON.stringify({
    ...{ schemaVersion: 2, mediaType: MANIFEST },
    config: {
      mediaType: "application/vnd.oci.image.config.v1+json",
      digest: digestOfBytes(config),
      size: config.length,
    },
    layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar", digest: digestOfBytes(LAYER), size }],
  });
  return { config, manifest };
}

/** An honest registry of the parts, but for what `instead` does. */
function serve({ config, manifest }: Parts, instead: Respond = () => false): Respond {
  const honest = new Map<string, string | Buffer>([
    [digestOfBytes(config), config],
    [digestOfBytes(LAYER), LAYER],
  ]);
  return (asked, response) => {
    if (instead(asked, response)) return true;
    const [, kind, name = ""] = /^\/v2\/app\/(manifests|blobs)\/(.+)$/.exec(asked.url) ?? [];
    const body = kind === "manifests" ? manifest : honest.get(name);
    if (body === undefined) return false;
    response.writeHead(200, { "content-type": kind === "manifests" ? MANIFEST : "application/octet-stream" });
    response.end(asked.method === "HEAD" ? undefined : body);
    return true;
  };
}

async function withRegistry<T>(
  respond: Respond,
  work: (registry: HostileRegistry) => Promise<T>,
): Promise<T> {
  const registry = await hostileRegistry(respond);
  try {
    return await work(registry);
  } finally {
    await registry.close();
  }
}

const isLayer = (url: string): boolean => url.endsWith(digestOfBytes(LAYER));

/** Refused with one readable line, and nothing is kept. */
async function refused(what: string, respond: Respond, why: RegExp): Promise<void> {
  const before = await kept();
  await withRegistry(respond, async ({ address }) => {
    await assert.rejects(images.pull(`${address}/app:latest`, {}), ({ message }: Error) => {
      assert.match(message, new RegExp(`^cannot get ${address}/app:latest: `), what);
      assert.match(message, why, `${what}: ${message}`);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: just these may reach nobody's terminal
      assert.doesNotMatch(message, /[\x00-\x1f\x7f-\x9f]/, what);
      assert.ok(message.length < 2_000, `${what}: ${message.length} characters`);
      return true;
    });
  });
  assert.deepEqual(await kept(), before, what);
}

async function kept(): Promise<string[]> {
  return (await readdir(CACHE, { recursive: true }).catch(() => [])).sort();
}

test(
  "an honest registry is believed, so that what follows is refused for what it does",
  thorough(),
  async () => {
    const image = await withRegistry(serve(imageParts()), ({ address }) =>
      images.pull(`${address}/app:latest`, {}),
    );
    assert.match(image.id, /@sha256:[0-9a-f]{64}$/);
  },
);

test("a registry that sends other bytes than it named is refused", thorough(), async () => {
  const [one, other] = [imageParts(), imageParts(LAYER.length + 1)];
  let requests = 0;
  await refused(
    "another manifest by digest than by tag",
    serve(one, ({ url }, response) => {
      if (!url.includes("/manifests/") || requests++ === 0) return false;
      response.writeHead(200, { "content-type": MANIFEST }).end(other.manifest);
      return true;
    }),
    /digest|match/i,
  );
  await refused(
    "another layer",
    serve(one, ({ url }, response) => {
      if (!isLayer(url)) return false;
      response.end(layerOf([{ name: "file", body: "y" }]));
      return true;
    }),
    /digest|match/i,
  );
  await refused(
    "half a layer",
    serve(one, ({ url }, response) => {
      if (!isLayer(url)) return false;
      response.end(LAYER.subarray(0, LAYER.length / 2));
      return true;
    }),
    /digest|match|size|EOF/i,
  );
  await refused(
    "another configuration",
    serve(one, ({ url }, response) => {
      if (!url.endsWith(digestOfBytes(one.config))) return false;
      response.end(one.config.replace("amd64", "amd65"));
      return true;
    }),
    /digest|match/i,
  );
});

test("a registry that never stops sending is left", thorough(), async () => {
  const most = 4096 * MIB;
  const parts = imageParts();
  for (const [what, matches] of [
    ["a manifest", (url: string) => url.includes("/manifests/")],
    ["a configuration", (url: string) => url.endsWith(digestOfBytes(parts.config))],
  ] as const) {
    let taken = 0;
    await refused(
      what,
      serve(parts, ({ url, method }, response) => {
        if (!matches(url) || method === "HEAD") return false;
        response.writeHead(200, { "content-type": MANIFEST });
        endless(response, most, (bytes) => {
          taken = bytes;
        });
        return true;
      }),
      /./,
    );
    assert.ok(taken < 64 * MIB, `${what}: ${taken / MIB} MiB were taken`);
  }
});

test(
  "what a registry says of an error is shown in one line, without control characters",
  thorough(),
  async () => {
    const text = `\x1b]0;owned\x07\x1b[2J${"long ".repeat(100_000)}\nlevel=fatal msg="all is well"`;
    for (const status of [400, 401, 403, 404, 429, 500])
      await refused(
        String(status),
        (_asked, response) => {
          response.writeHead(status, { "content-type": "application/json" });
          response.end(JSON.stringify({ errors: [{ code: "DENIED", message: text }] }));
          return true;
        },
        /./,
      );
  },
);

test(
  "credentials of one registry are not sent to another, nor where that one points",
  thorough(),
  async () => {
    const SECRET = Buffer.from("someone:secret").toString("base64");
    await withRegistry(serve(imageParts()), async (other) => {
      const ask: Respond = (_asked, response) => {
        response
          .writeHead(401, { "www-authenticate": `Bearer realm="http://${other.address}/token",service="x"` })
          .end();
        return true;
      };
      await withRegistry(ask, async (hostile) => {
        const auths = { [other.address]: { auth: SECRET }, "registry.example": { auth: SECRET } };
        await assert.rejects(images.pull(`${hostile.address}/app:latest`, auths), /^Error: cannot get /);
        const sent = [...hostile.asked, ...other.asked].filter(({ authorization }) =>
          authorization?.includes(SECRET),
        );
        assert.deepEqual(sent, []);
        assert.ok(hostile.asked.length > 0);
      });
    });
  },
);
