import { headerlessRequest } from "@postern/apiserver/authentication/testing/headerless-request";
import { silentLogger } from "@postern/apiserver/logging/logger";
import { textResponse } from "@postern/apiserver/transport/api-response";
import { expect, it } from "vitest";
import { createStartingHandler } from "./starting-handler.ts";

const get = (path: string, method = "GET") => headerlessRequest({ path, method });

it("answers probes at once: alive, and not ready", async () => {
  using starting = createStartingHandler(silentLogger);
  const statusOf = async (path: string) => (await starting.handle(get(path))).status;
  expect(await Promise.all(["/livez", "/livez/ping", "/readyz", "/healthz"].map(statusOf))).toEqual([
    200, 200, 500, 500,
  ]);
});

it("has all others wait for the server, which answers them", async () => {
  using starting = createStartingHandler(silentLogger);
  const waiting = [get("/apis"), get("/livez", "POST"), get("/nothing")].map(starting.handle);
  const early = await Promise.race([...waiting, Promise.resolve("none")]);
  expect(early).toBe("none");
  const paths: string[] = [];
  starting.open((request) => {
    paths.push(request.path);
    return textResponse(200, "");
  });
  await Promise.all(waiting);
  expect(paths.toSorted()).toEqual(["/apis", "/livez", "/nothing"]);
});

it("answers what waits with 503 where the start fails", async () => {
  const starting = createStartingHandler(silentLogger);
  const waiting = starting.handle(get("/apis"));
  starting[Symbol.dispose]();
  expect((await waiting).status).toBe(503);
});
