import { describe, expect, it } from "vitest";
import { filesToRetry } from "./failed-files.ts";

const failed = (...paths: readonly string[]) => paths.map((path) => ({ project: "system", path, tests: ["a test"] }));

describe("files that are retried", () => {
  it("are the few that drive foreign programs", () => {
    const files = failed("test/e2e/helm.test.ts", "test/install/systemd.test.ts");
    expect(filesToRetry(files)).toEqual(files);
  });

  it.each([
    ["attack", "test/attacks/lineage.test.ts"],
    ["crash", "test/crash/kill-nine.test.ts"],
    ["case of conformance", "test/conformance/watch.test.ts"],
    ["unit", "packages/cel/src/parse-cel.test.ts"],
  ])("are none where an %s failed", (_kind, path) => {
    expect(filesToRetry(failed("test/e2e/helm.test.ts", path))).toBeUndefined();
  });

  it("are none where many failed, or nothing is known", () => {
    const many = ["a", "b", "c", "d"].map((name) => `test/e2e/${name}.test.ts`);
    expect(filesToRetry(failed(...many))).toBeUndefined();
    expect(filesToRetry([])).toBeUndefined();
    expect(filesToRetry(undefined)).toBeUndefined();
  });
});
