import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request to a registry: path, and the credentials that came with it. */
export interface Asked {
  method: string;
  url: string;
  authorization: string | undefined;
}

export interface HostileRegistry {
  /** `127.0.0.1:PORT` */
  address: string;
  readonly asked: Asked[];
  close(): Promise<void>;
}

/** Responds and returns true, or leaves it to others. */
export type Respond = (asked: Asked, response: ServerResponse) => boolean;

/** A registry that returns whatever the test says, over plain HTTP on the loopback interface. */
export async function hostileRegistry(respond: Respond): Promise<HostileRegistry> {
  const asked: Asked[] = [];
  const server = createServer(({ method = "", url = "", headers }: IncomingMessage, response) => {
    const request = { method, url, authorization: headers.authorization };
    asked.push(request);
    response.on("error", () => {});
    if (url === "/v2/") response.end("{}");
    else if (!respond(request, response)) response.writeHead(404).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Sends bytes until the client leaves, or this many are sent. Returns through `sent` how many were taken. */
export function endless(response: ServerResponse, most: number, sent: (bytes: number) => void): void {
  const chunk = Buffer.alloc(1 << 20, 0x20);
  let total = 0;
  const more = (): void => {
    while (!response.destroyed && total < most) {
      total += chunk.length;
      sent(total);
      if (!response.write(chunk)) return void response.once("drain", more);
    }
    response.end();
  };
  more();
}
