import { encodeYaml } from "@postern/apimachinery/yaml/encode-yaml";
import { describe, expect, it, onTestFinished } from "vitest";
import { createWorkThreads } from "./work-threads.ts";

function threads() {
  const lifetime = new AbortController();
  onTestFinished(() => lifetime.abort());
  return { ...createWorkThreads(lifetime.signal), lifetime };
}

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
    await Promise.all([ask("a", "a1"), ask("a", "a2"), ask("a", "a3"), ask("b", "b1")]);
    expect(order).toEqual(["a1", "a2", "b1", "a3"]);
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
