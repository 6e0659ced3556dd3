import { connect } from "node:net";
import { text } from "node:stream/consumers";

/** What names the socket to a process of ours. */
export function sleepersSocket(path: string): Record<string, string> {
  return { MOORING_SLEEPERS_SOCKET: path };
}

/** Whether a process can be asked there. */
export const listens = (path: string): Promise<boolean> =>
  text(connect(path)).then(
    () => true,
    () => false,
  );

/** Fails when a process, asked at its socket, has work to do that no event has asked for. */
export async function nothingSleeps(path: string): Promise<void> {
  const socket = connect(path);
  const sleepers = JSON.parse(await text(socket)) as { controller: string; key: string; step: string }[];
  const steps = sleepers.map(({ controller, key, step }) => `${controller} ${key}: ${step}`);
  if (steps.length > 0) throw new Error(`nothing asks for what is due: ${steps.join("; ")}`);
}
