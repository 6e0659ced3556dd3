import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import type { NetworkInterfaceInfo } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createHost } from "../../host/create-host.ts";
import { scratch } from "../../testing/scratch.ts";
import { findPlace, type Place } from "./place.ts";
import { mayCross, ownAddress } from "./trust.ts";
import { parseNetwork, TrustedNetworks } from "./trusted-networks.ts";

const NONE = new TrustedNetworks();
const LAN = new TrustedNetworks(["10.0.0.0/24", "10.0.2.0/24"]);
const plain = (...addresses: string[]): Place => ({ addresses, encrypted: [] });

test("a network is an IPv4 address and a prefix, and nothing behind the prefix", () => {
  assert.deepEqual(parseNetwork("10.0.0.0/24"), { address: "10.0.0.0", prefix: 24 });
  assert.deepEqual(parseNetwork("192.0.2.7/32"), { address: "192.0.2.7", prefix: 32 });
  assert.deepEqual(parseNetwork("0.0.0.0/0"), { address: "0.0.0.0", prefix: 0 });
  for (const text of [
    "",
    "10.0.0.0",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "10.0.0/24",
    "fd00::/8",
    "10.0.0.0/24/24",
  ])
    assert.throws(() => parseNetwork(text), { code: "INVALID_ARGUMENT", message: /no IPv4 network/ }, text);
  assert.throws(() => parseNetwork("10.0.77.5/20"), { hint: /10\.0\.64\.0\/20/ });
  assert.throws(() => parseNetwork("255.255.255.255/1"), { hint: /128\.0\.0\.0\/1/ });
});

test("both ends have to be in a trusted network; another node on this machine needs none", async () => {
  const place = plain("10.0.0.1");
  const cross = (server: string, client: string, networks = LAN) =>
    mayCross({ networks, place, server, client });
  assert.equal(await cross("10.0.0.1", "10.0.0.2"), true);
  assert.equal(await cross("10.0.0.1", "10.0.2.2"), true);
  assert.equal(await cross("10.0.0.1", "10.0.1.2"), false, "the client is outside");
  assert.equal(await cross("192.0.2.1", "10.0.0.2"), false, "the server is outside");
  assert.equal(await cross("10.0.0.1", "10.0.0.2", NONE), false);
  assert.equal(await cross("10.0.0.1", "10.0.0.1", NONE), true);
  assert.equal(await cross("127.0.0.1", "127.0.0.1", NONE), true);
});

test("over WireGuard nothing has to be named, as long as the way leads through it", async () => {
  // Where the kernel sends to its own addresses from: the loopback stands for a tunnel.
  const place: Place = { addresses: ["10.8.0.1"], encrypted: ["10.8.0.1", "127.0.0.1"] };
  const cross = (server: string, client: string) => mayCross({ networks: NONE, place, server, client });
  const elsewhere: Place = { addresses: ["10.8.0.1"], encrypted: ["10.8.0.1"] };
  assert.equal(await cross("10.8.0.1", "127.0.0.2"), true);
  assert.equal(
    await mayCross({ networks: NONE, place: elsewhere, server: "10.8.0.1", client: "255.255.255.254" }),
    false,
    "a peer's address that is routed past it",
  );
  assert.equal(await cross("192.0.2.1", "203.0.113.9"), false, "served outside of it");
});

test("which interface is WireGuard's is what the kernel says, whatever it is called", async (t) => {
  const folder = await scratch(t, createHost());
  const types = {
    wg0: "DEVTYPE=vlan\nINTERFACE=wg0\n",
    office: "DEVTYPE=wireguard\nINTERFACE=office\n",
    eth0: "",
  };
  for (const [name, uevent] of Object.entries(types)) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, "uevent"), uevent);
  }
  const at = (address: string, more: Partial<NetworkInterfaceInfo> = {}) =>
    ({ address, family: "IPv4", internal: false, ...more }) as NetworkInterfaceInfo;
  const interfaces = {
    lo: [at("127.0.0.1", { internal: true })],
    eth0: [at("10.0.0.1"), at("fe80::1", { family: "IPv6" })],
    wg0: [at("10.7.0.1")],
    office: [at("10.8.0.1")],
    gone: [at("10.9.0.1")],
  };
  assert.deepEqual(await findPlace(interfaces, folder), {
    addresses: ["10.0.0.1", "10.7.0.1", "10.8.0.1", "10.9.0.1"],
    encrypted: ["10.8.0.1"],
  });
});

test("a node is known by the address that reaches others, unless only another one is trusted", () => {
  const place: Place = { addresses: ["172.17.0.1", "192.0.2.1", "10.0.0.1"], encrypted: [] };
  assert.equal(ownAddress(place, NONE, "192.0.2.1"), "192.0.2.1");
  assert.equal(ownAddress(place, NONE, undefined), "172.17.0.1");
  assert.equal(ownAddress(place, NONE, "192.0.2.99"), "172.17.0.1", "it is not this node's any more");
  assert.equal(ownAddress(place, LAN, "192.0.2.1"), "10.0.0.1");
  assert.equal(ownAddress({ ...place, encrypted: ["192.0.2.1"] }, LAN, "192.0.2.1"), "192.0.2.1");
  assert.equal(ownAddress(plain(), LAN, "192.0.2.1"), undefined);
});
