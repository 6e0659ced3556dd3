import { createHash } from "node:crypto";

/** SHA-256 of a text, as 64 hexadecimal digits: for names made of others, and to compare what must not be kept as it is. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
