import assert from "node:assert/strict";
import { test } from "node:test";
import { isStatus } from "@mooring/store";
import { Turns } from "./turns.ts";

const isBusy = (error: unknown) =>
  isStatus(error) && error.code === 429 && error.details.retryAfterSeconds === 1;

test("whoever sends much waits behind their own, and others for one turn only", async () => {
  const turns = new Turns({ seats: 1 });
  const order: string[] = [];
  const seat = await turns.take("first");
  const work = async (user: string): Promise<void> => {
    const seat = await turns.take(user);
    order.push(user);
    seat.leave();
  };
  const all = [...Array.from({ length: 5 }, () => work("greedy")), work("modest")];
  seat.leave();
  await Promise.all(all);
  assert.deepEqual(order, ["greedy", "modest", "greedy", "greedy", "greedy", "greedy"]);
});

test("beyond what may wait, and after a time, a user is asked to retry", async () => {
  const turns = new Turns({ seats: 1, mostWaiting: 1, longestWaitMs: 20 });
  const seat = await turns.take("a");
  const waiting = turns.take("b");
  await assert.rejects(turns.take("b"), isBusy);
  await assert.rejects(waiting, isBusy);
  seat.leave();
  seat.leave();
  const again = await turns.take("b");
  again.leave();
});

test("one user does not have all seats, and goes on when one of their own is free", async () => {
  const turns = new Turns({ seats: 3, seatsOfOne: 2, longestWaitMs: 10_000 });
  const held = [await turns.take("greedy"), await turns.take("greedy")];
  const third = turns.take("greedy");
  const modest = await turns.take("modest");
  const waits = turns.take("other");
  // A seat that greedy may not have goes to the next one, though greedy came first.
  modest.leave();
  const other = await waits;
  held[0]?.leave();
  const again = await third;
  for (const seat of [other, again, held[1]]) seat?.leave();
});

test("a seat that is paused is another's, and is taken again before what else its user waits for", async () => {
  const turns = new Turns({ seats: 1, mostWaiting: 1, longestWaitMs: 10_000 });
  const order: string[] = [];
  const paused = await turns.take("a");
  paused.pause();
  const other = await turns.take("b");
  const next = turns.take("a").then((seat) => {
    order.push("next");
    seat.leave();
  });
  const back = paused.resume().then(() => order.push("back"));
  other.leave();
  await back;
  paused.leave();
  await next;
  assert.deepEqual(order, ["back", "next"]);
});

test("a request that ends while it waits for its seat again does not keep it", async () => {
  const turns = new Turns({ seats: 1 });
  const ended = await turns.take("a");
  ended.pause();
  const other = await turns.take("b");
  const back = ended.resume();
  ended.leave();
  other.leave();
  await back;
  (await turns.take("c")).leave();
});
