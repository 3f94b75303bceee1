import { encodeYaml } from "@postern/apimachinery/yaml/encode-yaml";
import type { WorkOf, WorkType } from "@postern/apiserver/limits/work-threads";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { describe, expect, it, onTestFinished } from "vitest";
import { startWorkThreads } from "./start-work-threads.ts";

function threads(runtime: Parameters<typeof startWorkThreads>[1] = systemRuntime) {
  const lifetime = new AbortController();
  onTestFinished(() => lifetime.abort());
  const { run: runFor } = startWorkThreads(lifetime.signal, runtime);
  const run = <T extends WorkType>(name: string, type: T, work: WorkOf<T>, signal: AbortSignal) => {
    const [lane = "", client = ""] = name.split("/");
    return runFor({ lane, client }, type, work, signal);
  };
  return { run, lifetime };
}

/** A schema and objects, of which a large one costs more than one object may. */
const alternatives = (depth: number): object =>
  depth === 0 ? { pattern: "^(a|b)*c$" } : { anyOf: Array.from({ length: 4 }, () => alternatives(depth - 1)) };
const list = { type: "array", items: { type: "string", ...alternatives(5) } } as const;
const dearWork = (items: number): WorkOf<"checkSchema"> => ({
  schema: { type: "object", properties: { spec: { type: "object", properties: { list } } } },
  object: JSON.stringify({ spec: { list: Array.from({ length: items }, (_, index) => `abab${index}`) } }),
  old: undefined,
});
const dear = dearWork(20_000);

const never = new AbortController().signal;

describe("threads for long work", () => {
  it("read and write YAML as the server itself does", async () => {
    const { run } = threads();
    const value = { a: [1, "x: y", null, true], big: 2n ** 60n, on: "off" };
    const json = `{"a":[1,"x: y",null,true],"big":${value.big},"on":"off"}`;
    expect(await run("a", "encodeYaml", { json }, never)).toBe(encodeYaml(value));
    expect(await run("a", "decodeYaml", { text: encodeYaml(value) }, never)).toEqual({ json, duplicates: [] });
  });

  it("report syntax errors and duplicates", async () => {
    const { run } = threads();
    expect(await run("a", "decodeYaml", { text: "a: [" }, never)).toMatchObject({
      fault: expect.stringMatching(/^yaml: /),
    });
    expect(await run("a", "decodeYaml", { text: "a: 1\na: 2\n" }, never)).toEqual({
      json: '{"a":2}',
      duplicates: ['line 2: key "a" already set in map'],
    });
  });

  it("keep the rules of a schema that they have been sent", async () => {
    const { run } = threads();
    const schema = {
      type: "object",
      properties: { spec: { type: "object", properties: { n: { type: "integer" } } } },
      "x-kubernetes-validations": [{ rule: "self.spec.n > 1" }],
    } as const;
    const check = (n: number) =>
      run("a", "checkRules", { schema, object: JSON.stringify({ spec: { n } }), old: undefined }, never);
    expect((await check(1)).errors).toMatchObject([
      { message: expect.stringContaining("failed rule: self.spec.n > 1") },
    ]);
    expect((await check(2)).errors).toEqual([]);
  });

  it("give each client its turn", async () => {
    const { run } = threads();
    const order: string[] = [];
    const ask = (client: string, name: string) =>
      run(client, "encodeYaml", { json: "1" }, never).then(() => void order.push(name));
    await Promise.all([ask("x/a", "a1"), ask("x/a", "a2"), ask("x/a", "a3"), ask("x/b", "b1")]);
    expect(order).toEqual(["a1", "a2", "b1", "a3"]);
  });

  it("keep no tenant waiting for the dear work of another, which has many clients", async () => {
    const { run } = threads();
    const some = dearWork(200);
    const order: string[] = [];
    const ask = (client: string, work: Promise<unknown>) => work.then(() => void order.push(client));
    const many = ["many/a", "many/b", "many/c"].map((client) => ask(client, run(client, "checkSchema", some, never)));
    const one = ask("one/a", run("one/a", "encodeYaml", { json: "1" }, never));
    await Promise.all([...many, one]);
    expect(order.indexOf("one/a")).toBeLessThanOrEqual(1);
  }, 60_000);

  it("name the field where an object costs too much", async () => {
    const { run } = threads();
    expect(await run("a", "checkSchema", dear, never)).toEqual({
      tooLongAt: expect.stringMatching(/^spec\.list\[\d+\]$/),
    });
  });

  it("name the field of a text for which a pattern takes too long", async () => {
    const { run } = threads();
    // A thousand threads of the automaton for every character.
    const slow = { type: "string", pattern: "[ab]*a[ab]{900}c" } as const;
    const schema = { type: "object", properties: { spec: { type: "object", properties: { slow } } } } as const;
    const object = JSON.stringify({ spec: { slow: "ab".repeat(50_000) } });
    expect(await run("a", "checkSchema", { schema, object, old: undefined }, never)).toEqual({
      tooLongAt: "spec.slow",
    });
  });

  it("give up work that takes longer than its deadline, and go on with the next", async () => {
    const deadlines: (() => void)[] = [];
    const scheduler = {
      schedule(_: number, task: () => void) {
        deadlines.push(task);
        return { [Symbol.dispose]() {} };
      },
    };
    const { run } = threads({ ...systemRuntime, scheduler });
    const late = run("a", "checkSchema", dear, never);
    const next = run("a", "encodeYaml", { json: "1" }, never);
    deadlines[0]?.();
    await expect(late).rejects.toMatchObject({
      code: 504,
      message: "Timeout: checking the object against its schema took longer than 30 seconds",
    });
    expect(await next).toBe("1\n");
  });

  it("do nothing for clients that left, and fail if the thread fails", async () => {
    const { run, lifetime } = threads();
    const gone = AbortSignal.abort(new Error("gone"));
    await expect(run("a", "encodeYaml", { json: "1" }, gone)).rejects.toThrow("gone");
    await expect(run("a", "encodeYaml", { json: "{" }, never)).rejects.toThrow("the thread for long work failed");
    expect(await run("a", "encodeYaml", { json: "1" }, never)).toBe("1\n");
    const left = run("a", "encodeYaml", { json: "1" }, never);
    lifetime.abort(new Error("over"));
    await expect(left).rejects.toThrow("the thread ended");
    await expect(run("a", "encodeYaml", { json: "1" }, never)).rejects.toThrow("over");
  });
});
