import { sendJson, startTestServer } from "@postern/client/testing/test-server";
import { expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

const EVENTS = [
  { version: 2, width: 80, height: 24 },
  [0.1, "o", "\u001b[31mred\u001b[0m\n"],
  [0.2, "i", "typed\n"],
  [0.3, "m", "command terminated with \u001b]52;c;eA==\u0007non-zero exit code: exit status 3"],
  [0.4, "m", "recording ended: the recording has reached its largest size"],
];

it("writes what was shown, and to standard error how the session and its recording ended", async () => {
  await using server = await startTestServer();
  const environment = { POSTERN_URL: server.url, POSTERN_TOKEN: "x", POSTERN_CA: server.certificatePem };
  server.respond(({ url }, response) => {
    if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
    response.end(EVENTS.map((event) => `${JSON.stringify(event)}\n`).join(""));
  });
  const play = async (format: string) =>
    await runCommand(["recording", "play", "one", "--format", format, "--speed", "1000"], environment);
  expect(await play("text")).toEqual({
    code: 0,
    stdout: "red\n",
    stderr:
      "command terminated with non-zero exit code: exit status 3\nrecording ended: the recording has reached its largest size\n",
  });
  expect((await play("asciicast")).stderr).toBe("");
  const { code, stderr } = await play("terminal");
  expect([code, stderr]).toEqual([1, expect.stringContaining("--format text")]);
});
