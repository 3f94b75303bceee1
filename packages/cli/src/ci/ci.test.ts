// Answers that a platform may give, and the part of them that reaches the environment of a job and its terminal.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendJson, startTestServer, type TestServer } from "@postern/client/testing/test-server";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-ci-"));
const [authority, token, written] = [join(directory, "ca.pem"), join(directory, "token"), join(directory, "env")];
let platform: TestServer;
beforeAll(async () => {
  platform = await startTestServer();
  writeFileSync(authority, platform.certificatePem);
  writeFileSync(token, "e30.e30.e30");
});
afterAll(async () => {
  await platform[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const logIn = (args: readonly string[], environment: Record<string, string> = {}) =>
  runCommand(["ci", "login", "--server", platform.url, "--ca", authority, "--token-file", token, ...args], environment);
const answer = (status: number, body: object): void => {
  platform.respond((_request, response) => sendJson(response, body, status));
};

it.each(["x\nPATH=/evil", "x\rPATH=/evil", "x y", "", "\u001b[2J", "é"])(
  "writes no variable for a key that can be none: %j",
  async (key) => {
    answer(200, { access_token: key, expires_in: 60 });
    const ofGitHub = join(directory, "github-env");
    writeFileSync(ofGitHub, "");
    for (const outcome of [
      await logIn(["--write-env", written]),
      await logIn(["--print"]),
      await logIn([], { GITHUB_ENV: ofGitHub }),
    ]) {
      expect(outcome).toMatchObject({ code: 1, stdout: "" });
      expect(outcome.stderr).toContain("issued no access key");
    }
    expect([existsSync(written), readFileSync(ofGitHub, "utf8")]).toEqual([false, ""]);
  },
);

it("shows what the platform says on one line, without control characters", async () => {
  answer(400, { error: "invalid_request", error_description: "\u001b[2Jno\u0007\n::add-path::/evil\r::stop" });
  const { code, stderr } = await logIn(["--print"]);
  expect([code, stderr]).toEqual([
    1,
    `postern: ${platform.url} issued no access key: [2Jno ::add-path::/evil ::stop\n`,
  ]);
});

it.each([
  [["--rule", "release"], "by the trust rule release"],
  [["--project", "shop"], "by the trust rule shop/*"],
  [["--project", "shop", "--rule", "release"], "by the trust rule shop/release"],
])("names the rule that %j asked for in a refusal", async (args, named) => {
  answer(400, { error: "invalid_target", error_description: "there is no such trust rule" });
  const { code, stderr } = await logIn(["--print", ...args]);
  expect([code, stderr]).toEqual([
    1,
    `postern: ${platform.url} issued no access key ${named}: there is no such trust rule\n`,
  ]);
});

it("writes the variables of a key", async () => {
  answer(200, { access_token: "key", expires_in: 60 });
  expect((await logIn(["--write-env", written])).code).toBe(0);
  expect(readFileSync(written, "utf8")).toBe(
    `POSTERN_URL=${platform.url}\nPOSTERN_TOKEN=key\nPOSTERN_CA=${authority}\n`,
  );
});

it("prints for programs where the key is", async () => {
  answer(200, { access_token: "key", expires_in: 60 });
  const common = { expiresInSeconds: 60, identityFrom: token };
  const printed = async (args: readonly string[], environment = {}) => {
    const { code, stdout, stderr } = await logIn([...args, "-o", "json"], environment);
    return [code, stderr, JSON.parse(stdout)];
  };
  const variables = { POSTERN_URL: platform.url, POSTERN_TOKEN: "key", POSTERN_CA: authority };
  expect(await printed([])).toEqual([0, "", { ...common, variables }]);
  expect(await printed(["--write-env", written])).toEqual([0, "", { ...common, file: written }]);
  const ofGitHub = join(directory, "github-env");
  writeFileSync(ofGitHub, "");
  expect(await printed([], { GITHUB_ENV: ofGitHub })).toEqual([0, "::add-mask::key\n", { ...common, file: ofGitHub }]);
  expect(readFileSync(ofGitHub, "utf8")).toContain("POSTERN_TOKEN=key\n");
  expect((await logIn(["--print", "-o", "json"])).code).toBe(2);
});

it("says that it cannot write the file", async () => {
  answer(200, { access_token: "key", expires_in: 60 });
  const file = join(directory, "none", "env");
  expect(await logIn(["--write-env", file])).toEqual({
    ...{ code: 1, stdout: "" },
    stderr: `postern: cannot write ${file} (ENOENT)\n`,
  });
});
