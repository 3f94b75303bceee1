import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../testing/running-platform.ts";
import { createAccessKeyFormat } from "../secrets/access-key-format.ts";

const format = createAccessKeyFormat("postern");

const create = async (platform: RunningPlatform, name: string): Promise<string> =>
  (await platform.send({ method: "POST", path: "ownedaccesskeys", body: { metadata: { name }, spec: {} } })).body.spec
    .key;
const sendReport = (platform: RunningPlatform, body: string, headers = {}) =>
  platform.send({ method: "POST", path: "/leaks", key: "", body, headers });
/** A server takes few in a row, and each of its threads its share of them. */
async function report(...sent: Parameters<typeof sendReport>) {
  for (;;) {
    const answer = await sendReport(...sent);
    if (answer.status !== 429) return answer;
  }
}
const isDisabled = async (platform: RunningPlatform, name: string): Promise<boolean> =>
  (await platform.send({ path: `ownedaccesskeys/${name}` })).body.spec.disabled === true;

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}

const eventsAbout = async (platform: RunningPlatform, reason: string) =>
  (await platform.send({ path: "/api/v1/namespaces/default/events" })).body.items.filter(
    (event: any) => event.reason === reason,
  );

describe("POST /leaks", () => {
  let platform: RunningPlatform;
  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  it("disables a key found in any text, and notifies only its owner", async () => {
    const key = await create(platform, "leaked");
    await create(platform, "kept");
    const answer = await report(platform, `https://paste.example/x: token=${key}&more`);
    expect(answer.status).toBe(202);
    await until(() => isDisabled(platform, "leaked"));
    expect((await platform.send({ path: "selves", key })).status).toBe(401);
    const { annotations } = (await platform.send({ path: "ownedaccesskeys/leaked" })).body.metadata;
    expect(annotations).toEqual({ "postern/leak-reported-at": expect.stringMatching(/^\d{4}-\d\d-\d\dT/) });
    expect(await isDisabled(platform, "kept")).toBe(false);
    await until(async () => (await eventsAbout(platform, "Leaked")).length === 1);
    expect(JSON.stringify(await eventsAbout(platform, "Leaked"))).not.toContain(key);
  });

  it("leaves nothing to read behind a wrapped value that is found", async () => {
    const made = await platform.send({
      method: "POST",
      path: "ownedaccesskeys?wrap=5m",
      body: { metadata: { name: "wrapped" }, spec: {} },
    });
    const { value } = made.body.status.wrapped;
    expect((await report(platform, `log: ${value}`)).status).toBe(202);
    await until(async () => (await eventsAbout(platform, "WrappedValueLeaked")).length === 1);
    const [event] = await eventsAbout(platform, "WrappedValueLeaked");
    expect([event.type, event.involvedObject.name]).toEqual(["Warning", "wrapped"]);
    expect(JSON.stringify(event)).not.toContain(value);
    expect((await platform.send({ method: "POST", path: "/unwrap", key: "", body: { value } })).status).toBe(403);
  });

  it("answers the same, whether or not there is such a key (security book 42)", async () => {
    const real = await create(platform, "real");
    const answers = [];
    for (const body of [real, format.generate(systemRuntime.random).value, "noise", `${real.slice(0, -1)}x`, "{}"]) {
      answers.push(await report(platform, body));
    }
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  });

  it("ignores an id with another secret, and the claimed identity of the sender", async () => {
    const key = await create(platform, "victim");
    const guess = `${key.slice(0, 15)}${"A".repeat(43)}`;
    await report(platform, guess);
    await create(platform, "marker").then((marker) => report(platform, marker, { authorization: "Bearer wrong" }));
    await until(() => isDisabled(platform, "marker"));
    expect(await isDisabled(platform, "victim")).toBe(false);
  });

  it("takes small bodies, and few in a row (security book 50)", async () => {
    expect((await platform.send({ path: "/leaks", key: "" })).status).toBe(405);
    const tooLarge = async (): Promise<number> => (await sendReport(platform, "x".repeat(70_000))).status;
    // The reports of the tests before count as well.
    await until(async () => (await tooLarge()) === 413);
    // At once: one after another, a busy machine is slower than the limit.
    const statuses = await Promise.all(Array.from({ length: 40 }, tooLarge));
    expect(statuses.filter((status) => status === 413 || status === 429)).toHaveLength(40);
    expect(statuses).toContain(429);
    expect((await platform.send({ path: "projects" })).status).toBe(200);
  });
});

it("only reports a leaked key where so configured", async () => {
  await using platform = await startPlatform({ "leaked-access-keys": "report" });
  const key = await create(platform, "leaked");
  await report(platform, key);
  await until(async () => (await eventsAbout(platform, "Leaked")).length === 1);
  expect((await platform.send({ path: "projects", key })).status).toBe(200);
});
