import type { Volume } from "@mooring/engine";
import { remountMessage } from "./remount-message.ts";
import { shortText } from "./short-text.ts";

/** Abnormal when the volume is faulted, its last operation failed or mounts of it are dead; the message is never empty. */
export function conditionResponse(volume: Volume): { abnormal: boolean; message: string } {
  const { robustness, error, salvage, state = "creating" } = volume.status ?? {};
  // A fault explains more than what fails because of it, such as closing the device under those who still have it.
  if (robustness === "faulted") {
    const what = salvage?.message ?? "the volume's data is damaged or gone";
    return { abnormal: true, message: shortText(`DATA_LOSS: ${what}`) };
  }
  if (error !== undefined) return { abnormal: true, message: shortText(`${error.code}: ${error.message}`) };
  const remount = remountMessage(volume);
  if (remount !== undefined) return { abnormal: true, message: remount };
  return { abnormal: false, message: `the volume is ${state}` };
}
