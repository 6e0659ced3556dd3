import assert from "node:assert/strict";
import { test } from "node:test";
import { isStatus } from "@mooring/store";
import { Turns } from "./turns.ts";

const isBusy = (error: unknown) =>
  isStatus(error) && error.code === 429 && error.details.retryAfterSeconds === 1;

test("whoever sends much waits behind their own, and others for one turn only", async () => {
  const turns = new Turns({ seats: 1 });
  const order: string[] = [];
  const leave = await turns.take("first");
  const work = async (user: string): Promise<void> => {
    const done = await turns.take(user);
    order.push(user);
    done();
  };
  const all = [...Array.from({ length: 5 }, () => work("greedy")), work("modest")];
  leave();
  await Promise.all(all);
  assert.deepEqual(order, ["greedy", "modest", "greedy", "greedy", "greedy", "greedy"]);
});

test("beyond what may wait, and after a time, a user is asked to retry", async () => {
  const turns = new Turns({ seats: 1, mostWaiting: 1, longestWaitMs: 20 });
  const leave = await turns.take("a");
  const waiting = turns.take("b");
  await assert.rejects(turns.take("b"), isBusy);
  await assert.rejects(waiting, isBusy);
  leave();
  leave();
  const again = await turns.take("b");
  again();
});

test("one user does not have all seats, and goes on when one of their own is free", async () => {
  const turns = new Turns({ seats: 3, seatsOfOne: 2, longestWaitMs: 10_000 });
  const held = [await turns.take("greedy"), await turns.take("greedy")];
  const third = turns.take("greedy");
  const modest = await turns.take("modest");
  const waits = turns.take("other");
  // A seat that greedy may not have goes to the next one, though greedy came first.
  modest();
  const other = await waits;
  held[0]?.();
  const again = await third;
  for (const leave of [other, again, held[1]]) leave?.();
});
