import { join } from "node:path";
import { warningsOfRecording } from "@postern/api/session-recording";
import { describe, expect, it } from "vitest";
import { startPlatform } from "../../testing/running-platform.ts";
import { temporaryDirectory } from "../../testing/temporary-directory.ts";

const REFUSED = "spec.sessionRecording.mode: this server has no --session-recording-dir: exec and attach are refused";
const UNRECORDED = "spec.sessionRecording.mode: this server has no --session-recording-dir: nothing is recorded";

describe("a setting of session recordings", () => {
  it("is warned of on a server without a directory, for projects and clusters, and only where it changed", async () => {
    await using platform = await startPlatform();
    for (const kind of ["projects", "clusters"]) {
      const write = async (method: string, path: string, spec: object) =>
        (await platform.send({ method, path, body: { metadata: { name: "shop" }, spec } })).warnings;
      expect(await write("POST", kind, { sessionRecording: { mode: "Required" } })).toEqual([REFUSED]);
      expect(await write("PATCH", `${kind}/shop`, { displayName: "Shop" })).toEqual([]);
      expect(await write("PATCH", `${kind}/shop`, { sessionRecording: { mode: "BestEffort" } })).toEqual([UNRECORDED]);
    }
  });

  it("has no warning on a server with a directory", async () => {
    await using directory = await temporaryDirectory();
    await using platform = await startPlatform({ "session-recording-dir": join(directory.path, "recordings") });
    const spec = { sessionRecording: { mode: "Required" } };
    const { status, warnings } = await platform.send({ path: "projects", body: { metadata: { name: "shop" }, spec } });
    expect([status, warnings]).toEqual([201, []]);
  });

  it.each([
    [undefined, undefined, 0],
    [{ mode: "Off" }, undefined, 0],
    [{ input: true }, undefined, 1],
    [{ mode: "Off", input: true }, undefined, 1],
    [{ input: true }, { input: true }, 0],
    [{ mode: "Required", input: true }, undefined, 0],
  ] as const)("asks for input and has no mode: %j after %j has %i warnings", (setting, old, count) => {
    expect(warningsOfRecording(setting, old, true)).toHaveLength(count);
  });
});
