import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { expect, it } from "vitest";
import { SERVED_VERSION, WITH_PRODUCT_VERSION } from "./served-version.ts";

/** Form that clients of Kubernetes accept as a version: https://semver.org, with the `v` that they expect. */
const VERSION = /^v\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/;

it("serves a version that Kubernetes clients can read, with the version, commit and date of this build", () => {
  expect(SERVED_VERSION.gitVersion).toMatch(VERSION);
  expect(SERVED_VERSION.gitVersion).toMatch(/^v1\.36\.\d+\+postern-/);
  expect(SERVED_VERSION.gitVersion).toContain(BUILD_INFO.version);
  expect(WITH_PRODUCT_VERSION.version).toBe(`v${BUILD_INFO.version}`);
  expect(SERVED_VERSION).toMatchObject({ gitCommit: BUILD_INFO.commit, buildDate: BUILD_INFO.date });
});
