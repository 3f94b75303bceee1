// Transcript: recorded from kube-apiserver v1.32.13.
import { describe, expect, it } from "vitest";
import { createLogger } from "../logging/create-logger.ts";
import { silentLogger } from "../logging/logger.ts";
import { createVersionHandler } from "../version/version-info.ts";
import { type HealthCheck, NotReadyError, pingCheck, shutdownCheck } from "./health-check.ts";
import { createHealthHandler } from "./health-handler.ts";
import transcript from "./testdata/health.json" with { type: "json" };

const ok = (name: string): HealthCheck => ({ name, check: () => undefined });

function ask(handler: ReturnType<typeof createHealthHandler>, uri: string) {
  const [path = "", query] = uri.split("?");
  return handler({ path, query: new URLSearchParams(query) });
}

async function textOf(
  answer: ReturnType<ReturnType<typeof createHealthHandler>>,
): Promise<[number, string] | undefined> {
  const response = await answer;
  if (response === undefined) return undefined;
  return [response.status, response.body.type === "bytes" ? String(response.body.bytes) : ""];
}

/** The checks that the recorded server listed for a path. */
function recordedChecks(endpoint: string): readonly HealthCheck[] {
  const step = transcript.steps.find(({ request }) => request.path === `/${endpoint}?verbose`);
  const { text = "" } = (step?.response ?? {}) as { text?: string };
  return [...text.matchAll(/^\[\+\](\S+) ok$/gm)].map(([, name = ""]) => ok(name));
}

describe("health checks", () => {
  const checks = {
    healthz: recordedChecks("healthz"),
    livez: recordedChecks("livez"),
    readyz: recordedChecks("readyz"),
  };
  const handler = createHealthHandler(checks, silentLogger);

  it.each(transcript.steps.map(({ request, response }) => [request.path, response] as const))(
    "answer %s like kube-apiserver",
    async (path, response) => {
      const { status, text } = response as { status: number; text?: string };
      const answer = ask(handler, path);
      if (status === 404) expect(answer).toBeUndefined();
      else {
        expect(await textOf(answer)).toEqual([status, text]);
        expect((await answer)?.headers["content-type"]).toBe(response.headers["content-type"]);
      }
    },
  );

  it("report publicly that one failed, and log the reason", async () => {
    const lines: string[] = [];
    const logger = createLogger({ destination: { write: (line) => lines.push(line) } });
    const sick: HealthCheck = { name: "storage", check: () => Promise.reject(new Error("disk on fire")) };
    const all = [pingCheck, sick, ok("log")];
    const sickly = createHealthHandler({ healthz: all, livez: all, readyz: all }, logger);
    expect(await textOf(ask(sickly, "/readyz"))).toEqual([
      500,
      "[+]ping ok\n[-]storage failed: reason withheld\n[+]log ok\nreadyz check failed\n",
    ]);
    expect(lines.join("")).toContain("disk on fire");
    expect(await textOf(ask(sickly, "/readyz?exclude=storage"))).toEqual([200, "ok"]);
    expect(await textOf(ask(sickly, "/readyz/storage"))).toEqual([500, "internal server error: disk on fire\n"]);
  });

  it("log a start or a stop in one line without a stack", async () => {
    const lines: string[] = [];
    const logger = createLogger({ destination: { write: (line) => lines.push(line) } });
    const starting: HealthCheck = {
      name: "prepared",
      check: () => Promise.reject(new NotReadyError("being prepared")),
    };
    const handler = createHealthHandler({ healthz: [], livez: [], readyz: [starting] }, logger);
    expect((await ask(handler, "/readyz"))?.status).toBe(500);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ cause: "being prepared", check: "prepared", component: "readyz" }),
    ]);
    expect(lines.join("")).not.toContain("stack");
  });

  it("turn readiness off while the server stops, and keep it alive", async () => {
    const stopping = new AbortController();
    const ready = [pingCheck, shutdownCheck(stopping.signal)];
    const both = createHealthHandler({ healthz: [pingCheck], livez: [pingCheck], readyz: ready }, silentLogger);
    expect(await textOf(ask(both, "/readyz"))).toEqual([200, "ok"]);
    stopping.abort();
    expect((await ask(both, "/readyz"))?.status).toBe(500);
    expect((await ask(both, "/livez"))?.status).toBe(200);
  });
});

describe("version", () => {
  const info = {
    major: "1",
    minor: "32",
    gitVersion: "v1.32.0",
    gitCommit: "c",
    gitTreeState: "clean",
    buildDate: "2026-01-01T00:00:00Z",
    goVersion: "go1.23",
    compiler: "gc",
    platform: "linux/amd64",
  };

  it("is read, and only read", () => {
    const { body } = createVersionHandler(info)("GET");
    expect(body.type === "bytes" && JSON.parse(String(body.bytes))).toEqual(info);
    expect(() => createVersionHandler(info)("POST")).toThrow("the server does not allow this method");
  });
});
