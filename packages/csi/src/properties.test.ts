import assert from "node:assert/strict";
import { test } from "node:test";
import {
  create,
  type DescMessage,
  equals,
  fromBinary,
  getOption,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { covers, howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { fromStatus, toStatus } from "./errors/status.ts";
import { randomMessage } from "./fuzz/generate.ts";
import { MUTATIONS } from "./fuzz/mutate.ts";
import { Random } from "./fuzz/random.ts";
import { csi_secret } from "./gen/csi/v1/csi_pb.ts";
import {
  Code,
  CsiError,
  checkMessage,
  fingerprint,
  redact,
  services,
  servicesV0,
  socketPath,
  toCsiError,
  v1,
} from "./index.ts";
import { BRIDGES } from "./v0/methods.ts";

const methods = [...Object.values(services), ...Object.values(servicesV0)].flatMap(({ methods }) => methods);
const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const messages = seeds.map((seed) => {
  const random = new Random(seed);
  const [first, ...rest] = methods.flatMap(({ input, output }) => [input, output]);
  assert.ok(first);
  const desc: DescMessage = random.pick([first, ...rest]);
  return { desc, message: randomMessage(desc, { ids: new Map(), folder: "/f" }, random) };
});
const runs = { numRuns: howMany({ everyday: 80, full: 2_000 }) };

test("any message survives its bytes", () => {
  fc.assert(
    fc.property(messages, ({ desc, message }) => {
      assert.ok(equals(desc, fromBinary(desc, toBinary(desc, message)), message));
    }),
    runs,
  );
});

test("no secret of any message is in what is logged of it", () => {
  covers("CSI-041");
  const marker = "s3cr3t-marker";
  for (const { input } of methods) {
    for (const field of input.fields) {
      if (!getOption(field, csi_secret)) continue;
      const init: Record<string, unknown> = { [field.localName]: { key: marker } };
      const logged = JSON.stringify(redact(input, create(input, init as MessageInitShape<typeof input>)));
      assert.doesNotMatch(logged, new RegExp(marker), `${input.typeName}.${field.name}`);
      assert.match(logged, /"key"/);
    }
  }
});

test("what is logged is JSON, whatever the message", () => {
  fc.assert(
    fc.property(messages, ({ desc, message }) => {
      JSON.parse(JSON.stringify(redact(desc, message)));
    }),
    runs,
  );
});

test("the validator checks any message, and says why in one line", () => {
  fc.assert(
    fc.property(messages, ({ desc, message }) => {
      const problem = checkMessage(desc, message);
      assert.ok(problem === undefined || (problem.length > 0 && problem.length < 10_000));
      assert.equal(checkMessage(desc, fromBinary(desc, toBinary(desc, message))), problem);
    }),
    runs,
  );
});

test("a name is checked by its bytes of UTF-8, not its characters", () => {
  covers("CSI-021");
  const volumeCapabilities = [
    {
      accessType: { case: "block" as const, value: {} },
      accessMode: { mode: v1.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
    },
  ];
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 140 }), (text) => {
      const name = text.replaceAll("\0", "-");
      const message = create(v1.CreateVolumeRequestSchema, { name, volumeCapabilities });
      const tooLong = Buffer.byteLength(name) > 128;
      assert.equal(/at most 128/.test(checkMessage(v1.CreateVolumeRequestSchema, message) ?? ""), tooLong);
    }),
    runs,
  );
});

test("a map is checked by the bytes of its keys and values", () => {
  covers("CSI-022");
  const sizes = fc.array(fc.tuple(fc.integer({ min: 1, max: 900 }), fc.integer({ min: 0, max: 1500 })), {
    maxLength: 6,
  });
  fc.assert(
    fc.property(sizes, (pairs) => {
      const entries = pairs.map(([key, value], index) => [`${index}${"k".repeat(key)}`, "v".repeat(value)]);
      const parameters = Object.fromEntries(entries) as Record<string, string>;
      const bytes = entries.join("").length - entries.length;
      const message = create(v1.GetCapacityRequestSchema, { parameters });
      assert.equal(
        checkMessage(v1.GetCapacityRequestSchema, message) !== undefined,
        bytes > 4096,
        `${bytes}`,
      );
    }),
  );
});

test("a fingerprint does not depend on the order of maps, and on everything else", () => {
  const maps = fc.dictionary(fc.string({ minLength: 1 }), fc.string(), {
    minKeys: 1,
    maxKeys: 6,
    noNullPrototype: true,
  });
  fc.assert(
    fc.property(maps, fc.string(), (parameters, name) => {
      const desc = v1.CreateSnapshotRequestSchema;
      const print = (init: MessageInitShape<typeof desc>) => fingerprint(desc, create(desc, init));
      const reversed = Object.fromEntries(Object.entries(parameters).reverse());
      assert.equal(print({ name, parameters }), print({ name, parameters: reversed }));
      assert.notEqual(print({ name, parameters }), print({ name: `${name}!`, parameters }));
      assert.notEqual(print({ name, parameters }), print({ name, secrets: parameters }));
    }),
  );
});

test("an error keeps code, reason and hint through the wire's status", () => {
  const codes = fc.constantFrom(...Object.values(Code).filter((code) => code !== Code.OK));
  fc.assert(
    fc.property(codes, fc.string({ unit: "binary" }), fc.string({ maxLength: 50 }), (code, message, hint) => {
      const back = fromStatus(toStatus(new CsiError(code, message, { reason: "CSI_X", hint })));
      assert.deepEqual([back.code, back.reason, back.hint], [code, "CSI_X", hint]);
      assert.ok(back.message.length > 0);
    }),
  );
});

test("anything thrown becomes a coded error", () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true }), (thrown) => {
      assert.ok(toCsiError(thrown) instanceof CsiError);
    }),
  );
});

test("a socket path is absolute and fits the kernel, or is refused with a coded error", () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.constantFrom("", "unix:", "unix://", "unix:///", "tcp://"),
      (text, prefix) => {
        try {
          const path = socketPath(prefix + text);
          assert.ok(path.startsWith("/") && Buffer.byteLength(path) <= 107 && !path.includes("\0"));
        } catch (error) {
          assert.ok(error instanceof CsiError && error.code === Code.INVALID_ARGUMENT, String(error));
        }
      },
    ),
  );
});

test("every conversion between csi.v0 and csi.v1 takes any message", () => {
  fc.assert(
    fc.property(seeds, fc.nat(BRIDGES.length - 1), (seed, index) => {
      const row = BRIDGES[index];
      assert.ok(row);
      const random = new Random(seed);
      const known = { ids: new Map<string, string[]>(), folder: "/f" };
      const convert = (make: (from: never) => object, from: DescMessage, into: DescMessage): Message =>
        create(into, make(randomMessage(from, known, random) as never) as MessageInitShape<typeof into>);
      const request = convert(row.request, row.from.input, row.to.input);
      const response = convert(row.response, row.to.output, row.from.output);
      toBinary(row.to.input, request);
      toBinary(row.from.output, response);
    }),
    runs,
  );
});

test("damaged bytes are a message or an error, and never take long", () => {
  fc.assert(
    fc.property(
      messages,
      fc.constantFrom(...Object.values(MUTATIONS)),
      seeds,
      ({ desc, message }, mutate, seed) => {
        try {
          checkMessage(
            desc,
            fromBinary(desc, mutate(Buffer.from(toBinary(desc, message)), new Random(seed))),
          );
        } catch (error) {
          assert.ok(error instanceof Error && !(error instanceof assert.AssertionError));
        }
      },
    ),
    runs,
  );
});
