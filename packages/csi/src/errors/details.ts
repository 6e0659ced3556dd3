import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { BadRequestSchema } from "../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../gen/google/rpc/status_pb.ts";

/** One field of a request that is to blame, as `google.rpc.BadRequest` has it. */
export interface FieldViolation {
  /** Path of the field in the request: `volume_ids[2]`. */
  field: string;
  /** What is wrong with it, for operators. It begins with the object that the field names, where there is one. */
  description: string;
  /** The same as a reason, upper case with underscores. */
  reason?: string;
}

/** Trailer of `google.rpc.Status`, by gRPC's own convention. */
export const DETAILS = "grpc-status-details-bin";

/**
 * Most bytes of all violations together. Clients limit the headers of a response; the gRPC libraries of Go and C++, which orchestrators
 * use, take far more than this.
 */
const MAX_BYTES = 12 * 1024;

/** `google.rpc.Status` with one `google.rpc.BadRequest`. Those that do not fit are counted in a last violation. */
export function encodeDetails(code: number, message: string, violations: readonly FieldViolation[]): Buffer {
  const kept: FieldViolation[] = [];
  let bytes = 0;
  for (const violation of violations) {
    const { field, description, reason = "" } = violation;
    bytes += Buffer.byteLength(field + description + reason) + 10;
    if (bytes > MAX_BYTES) break;
    kept.push(violation);
  }
  const more = violations.length - kept.length;
  if (more > 0) kept.push({ field: "", description: `and ${more} more` });
  const details = [anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations: kept }))];
  return Buffer.from(toBinary(StatusSchema, create(StatusSchema, { code, message, details })));
}

/** The violations in such a trailer; none when it is something else. */
export function decodeDetails(bytes: Uint8Array): FieldViolation[] {
  try {
    const { details } = fromBinary(StatusSchema, bytes);
    return details.flatMap((any) =>
      (anyUnpack(any, BadRequestSchema)?.fieldViolations ?? []).map(({ field, description, reason }) => ({
        ...{ field, description },
        ...(reason === "" ? {} : { reason }),
      })),
    );
  } catch {
    return [];
  }
}
