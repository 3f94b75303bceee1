// The committed reference of the library is what its index exports, and every export says what it is for.

import { expect, it } from "vitest";
import * as library from "../../packages/kubernetes/src/index.ts";
import { readSource } from "../source-files.ts";
import { libraryExports, renderLibraryReference } from "./library-reference.ts";

const exports = libraryExports();
const declarationOf = (name: string): string => exports.find((one) => one.name === name)?.declaration ?? "";

it("docs/reference/library.md is up to date: run tools/generate-library-reference.ts", () => {
  expect(readSource("docs/reference/library.md")).toBe(renderLibraryReference(exports));
});

it("has everything that the package exports at run time", () => {
  const names = exports.map(({ name }) => name);
  expect(Object.keys(library).length).toBeGreaterThan(15);
  expect(names).toEqual(expect.arrayContaining(Object.keys(library)));
  expect(names).toHaveLength(new Set(names).size);
});

it("describes every export", () => {
  expect(exports.filter(({ description }) => description === "").map(({ name, path }) => `${name}: ${path}`)).toEqual(
    [],
  );
});

it("shows declarations without bodies, each with the types of its file that it mentions", () => {
  expect(declarationOf("createApiServer")).toBe(
    "function createApiServer(options: ApiServerOptions): Promise<ApiServer>;",
  );
  expect(declarationOf("defineResource")).toContain(
    "function defineResource(definition: ResourceDefinition): ResourceDefinition;",
  );
  expect(declarationOf("s")).toContain(
    "string<const E extends string = string>(rules: StringRules<E> = {}): Field<E>;",
  );
  expect(declarationOf("s")).toContain("type StringRules<E extends string> = {");
  expect(declarationOf("systemRuntime")).toBe("const systemRuntime: Runtime;");
  expect(declarationOf("ApiError")).toContain("class ApiError extends Error {");
  expect(declarationOf("ApiError")).toContain("toStatus(): Status;");
  expect(declarationOf("CachedObject")).not.toContain("#");
});
