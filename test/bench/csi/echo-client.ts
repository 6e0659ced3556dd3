import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, credentials } from "@grpc/grpc-js";

/** A running echo, and a call to it by the same client library as the driver's. */
export interface Echo {
  /** Resolves with a response of so many bytes. */
  call(bytes: number): Promise<void>;
  end(): Promise<void>;
}

export async function startEcho(folder: string): Promise<Echo> {
  const socket = join(folder, "echo.sock");
  const program = fileURLToPath(new URL("echo.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", program, socket], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
  });
  const pass = (bytes: Buffer): Buffer => bytes;
  return {
    call: (bytes) => {
      const request = Buffer.alloc(4);
      request.writeUInt32BE(bytes);
      return new Promise((resolve, reject) => {
        client.makeUnaryRequest("/bench.Echo/Call", pass, pass, request, (error) => {
          if (error === null) resolve();
          else reject(error);
        });
      });
    },
    end: async () => {
      client.close();
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}
