import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { type Call, fullName, type Next } from "../calls/interceptor.ts";
import { Code } from "../errors/codes.ts";
import { CsiError } from "../errors/csi-error.ts";
import { toCsiError } from "../errors/status.ts";
import * as v1 from "../gen/csi/v1/csi_pb.ts";
import { checkMessage } from "../validation/check-message.ts";
import { BRIDGES } from "./methods.ts";

const bridges = new Map(BRIDGES.map((row) => [row.from as DescMethod, row]));

/** Before a call of csi.v0 whose error table wants more than the method of csi.v1 reports. */
const BEFORE: Readonly<Record<string, (call: Call, v1Next: Next) => Promise<void>>> = {
  // csi.v0: unknown volume is NOT_FOUND; csi.v1: what does not exist is not published, so OK.
  "csi.v0.Controller/ControllerUnpublishVolume": requireVolume,
};

/** The method of csi.v1 whose handler does what a method of csi.v0 asks for. */
export function methodOfV1(method: DescMethod): DescMethod | undefined {
  return bridges.get(method)?.to;
}

/** Serves csi.v0 by the handlers of csi.v1: same validation, locks, logs and data, own shapes and own errors. */
export function serveV0(v1Next: Next): Next {
  return async (call) => {
    const row = bridges.get(call.method);
    if (row === undefined) throw CsiError.unimplemented(`${fullName(call.method)} is not part of csi.v0`);
    const problem = checkMessage(call.method.input, call.request);
    if (problem !== undefined) {
      call.context.logger.info({ code: "INVALID_ARGUMENT" }, problem);
      throw CsiError.invalidArgument(`${call.method.name}: ${problem}`, { reason: "CSI_INVALID_FIELD" });
    }
    await BEFORE[fullName(call.method)]?.(call, v1Next);
    const request = create(row.to.input, row.request(call.request as never) as Record<string, unknown>);
    const context = { ...call.context, method: fullName(row.to), protocol: "csi.v0" as const };
    const response = (await v1Next({ method: row.to, request, context })) as Message;
    return create(row.from.output, row.response(response as never) as Record<string, unknown>);
  };
}

/** Any volume: what is asked is whether it exists, not what it can. */
const ANY_CAPABILITY = {
  accessType: { case: "mount" as const, value: {} },
  accessMode: { mode: v1.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
};

/** Throws NOT_FOUND when the plugin reports that there is no such volume. */
async function requireVolume(call: Call, v1Next: Next): Promise<void> {
  const { volumeId } = call.request as unknown as { volumeId: string };
  const { controllerGetVolume, validateVolumeCapabilities } = v1.Controller.method;
  const ask = async (method: DescMethod, request: Message): Promise<Code> => {
    try {
      await v1Next({ method, request, context: { ...call.context, method: fullName(method) } });
      return Code.OK;
    } catch (thrown) {
      const error = toCsiError(thrown);
      if (error.code === Code.NOT_FOUND) throw error;
      return error.code;
    }
  };
  const code = await ask(controllerGetVolume, create(controllerGetVolume.input, { volumeId }));
  if (code !== Code.UNIMPLEMENTED) return;
  // Few plugins can get a volume, but every controller has to check a volume's capabilities.
  const volumeCapabilities = [ANY_CAPABILITY];
  await ask(
    validateVolumeCapabilities,
    create(validateVolumeCapabilities.input, { volumeId, volumeCapabilities }),
  );
}
