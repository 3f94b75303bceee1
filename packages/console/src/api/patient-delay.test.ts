import { expect, it } from "vitest";
import { createConnection } from "./connection.ts";
import { patientDelay } from "./patient-delay.ts";

const HOURS = 3_600_000;

it("ends when the server answers again", async () => {
  const connection = createConnection();
  connection.lost();
  const waiting = patientDelay(connection, new EventTarget())(HOURS);
  connection.reached();
  await waiting;
});

it("ends when the browser is online again", async () => {
  const browser = new EventTarget();
  const waiting = patientDelay(createConnection(), browser)(HOURS);
  browser.dispatchEvent(new Event("online"));
  await waiting;
});

it("rejects when what waits is no longer wanted", async () => {
  const wanted = new AbortController();
  const waiting = patientDelay(createConnection(), new EventTarget())(HOURS, wanted.signal);
  wanted.abort(new Error("the view is gone"));
  await expect(waiting).rejects.toThrow("the view is gone");
});

it("lasts as long as it should where nothing changes", async () => {
  const connection = createConnection();
  await patientDelay(connection, new EventTarget())(1);
  expect(connection.state().isReachable).toBe(true);
});
