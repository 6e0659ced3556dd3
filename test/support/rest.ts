import { readFile } from "node:fs/promises";
import { request } from "node:https";

/** `T` is what the test expects in the body. */
export interface RestResponse<T> {
  status: number;
  body: T;
}

/** A request with the token of a kubeconfig, for what kubectl cannot send. */
export async function rest<T>(kubeconfig: string, path: string, body?: object): Promise<RestResponse<T>> {
  const response = await restText(kubeconfig, path, body);
  return { status: response.status, body: JSON.parse(response.body) as T };
}

/** The same for what is no JSON, such as `/metrics`. */
export async function restText(
  kubeconfig: string,
  path: string,
  body?: object,
): Promise<RestResponse<string>> {
  const text = await readFile(kubeconfig, "utf8");
  const field = (name: string): string => new RegExp(`${name}: ["']?([^\\s"']+)`).exec(text)?.[1] ?? "";
  const content = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${field("token")}`,
    ...(content === undefined
      ? {}
      : { "content-type": "application/json", "content-length": Buffer.byteLength(content) }),
  };
  const ca = Buffer.from(field("certificate-authority-data"), "base64");
  return new Promise((resolve, reject) => {
    const method = content === undefined ? "GET" : "POST";
    const sent = request(
      new URL(path, field("server")),
      { method, headers, ca, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(chunks).toString("utf8"),
          });
        });
      },
    );
    sent.on("error", reject);
    sent.end(content);
  });
}
