import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openCertificates } from "../real/support/certificates.mjs";

/** The certificate of a service on this machine. */
export interface TestCertificates {
  /** Files in PEM. */
  cert: string;
  key: string;
  /** PEM of who has issued it, and of somebody who has not. */
  ca: string;
  otherCa: string;
}

/** Made below the folder. */
export async function testCertificates(folder: string): Promise<TestCertificates> {
  const [pki, other] = await Promise.all([
    openCertificates(join(folder, "own"), "https://127.0.0.1"),
    openCertificates(join(folder, "other"), "https://127.0.0.1"),
  ]);
  await pki.certificate("service", "/CN=block-maps", "DNS:localhost,IP:127.0.0.1");
  const text = (path: string) => readFile(path, "utf8");
  const [ca, otherCa] = await Promise.all([text(pki.at("ca.crt")), text(other.at("ca.crt"))]);
  return { cert: pki.at("service.crt"), key: pki.at("service.key"), ca, otherCa };
}
