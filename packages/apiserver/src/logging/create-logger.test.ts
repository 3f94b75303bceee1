import { expect, it } from "vitest";
import { createLogger } from "./create-logger.ts";

function logged(write: (logger: ReturnType<typeof createLogger>) => void): { [field: string]: unknown }[] {
  const lines: string[] = [];
  write(createLogger({ level: "debug", destination: { write: (line) => lines.push(line) } }));
  return lines.map((line) => JSON.parse(line));
}

it("writes the fields it knows and drops every other one", () => {
  const stray = { user: "alice", authorization: "Bearer s3cret", headers: { cookie: "s3cret" }, status: 200 };
  const [line] = logged((logger) => logger.info(stray, "request"));
  expect(line).toMatchObject({ level: "info", msg: "request", user: "alice", status: 200 });
  expect(JSON.stringify(line)).not.toContain("s3cret");
});

it("writes an error with its causes, but none of its properties", () => {
  const error = new Error("outer", { cause: Object.assign(new Error("inner"), { token: "s3cret" }) });
  const [line] = logged((logger) => logger.error({ error }, "failed"));
  expect(line).toMatchObject({ error: { message: "outer", cause: { message: "inner" } } });
  expect(JSON.stringify(line)).not.toContain("s3cret");
});

it("does not write a field that is an object where a text belongs", () => {
  const fields = { user: { toString: () => "s3cret", key: "s3cret" } };
  const [line] = logged((logger) => logger.warn(fields as never, "odd"));
  expect(JSON.stringify(line)).not.toContain("s3cret");
});

it("removes credentials from texts", () => {
  const key = "pst_abcdefgh23_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4cD5eF6";
  const error = new Error(`no such name: ${key}`);
  const [line] = logged((logger) => logger.error({ error, name: key, uri: `/x/${key}` }, "failed"));
  expect(line).toMatchObject({
    name: "pst_abcdefgh23_<redacted>",
    error: { message: "no such name: pst_abcdefgh23_<redacted>" },
  });
  expect(JSON.stringify(line)).not.toContain(key.slice(15, 23));
});
