// Expected answers: k8s.io/apimachinery v0.32.1 pkg/api/validation/objectmeta_test.go, in testdata/06a-objectmeta.json,
// with the texts that 1.36 changed.

import { describe, expect, it } from "vitest";
import type { ObjectMeta } from "../meta/object-meta.ts";
import { restoreImmutableMeta, validateObjectMeta, validateObjectMetaUpdate } from "./object-meta.ts";
import { nameIsDNSSubdomain, nameIsPathSegment } from "./object-name.ts";
import vectors from "./testdata/06a-objectmeta.json" with { type: "json" };

type Vector = {
  id: string;
  kind: string;
  meta: ObjectMeta;
  new: ObjectMeta;
  old: ObjectMeta;
  newAfter: ObjectMeta;
  requiresNamespace: boolean;
  errors: { type: string; field: string; message: string }[];
};
const cases = vectors.cases as unknown as Vector[];

const pathOf = (errors: Vector["errors"]): string =>
  errors.some(({ field }) => field.startsWith("field.")) ? "field" : "metadata";

/** Go prints addresses of pointers: they differ from run to run. */
const withoutAddresses = (errors: readonly { type: string; field: string; message: string }[]) =>
  errors.map(({ type, field, message }) => ({ type, field, message: message.replace(/0xc[0-9a-f]{9}/g, "<address>") }));

/** The vectors hold Go's zero time, a set pointer that prints as null; here that is a time like any other. */
const terminating = (meta: ObjectMeta): ObjectMeta =>
  "deletionTimestamp" in meta ? { ...meta, deletionTimestamp: meta.deletionTimestamp ?? "0001-01-01T00:00:00Z" } : meta;

const sorted = <T extends { field: string; message: string }>(errors: readonly T[]): T[] =>
  [...errors].sort((a, b) => (a.field + a.message < b.field + b.message ? -1 : 1));

describe("object metadata on create", () => {
  it.each(cases.filter(({ kind }) => kind === "create"))("$id is judged as upstream does", (vector) => {
    const { meta, requiresNamespace, errors } = vector;
    const found = validateObjectMeta(meta, {
      requiresNamespace,
      validateName: nameIsDNSSubdomain,
      path: pathOf(errors),
    });
    expect(sorted(withoutAddresses(found))).toEqual(sorted(withoutAddresses(errors)));
  });

  it("a prefix of a generated name may end in a dash", () => {
    const meta = { name: "a-x7k2p", generateName: "a-" };
    expect(
      validateObjectMeta(meta, { requiresNamespace: false, validateName: nameIsDNSSubdomain, path: "metadata" }),
    ).toEqual([]);
  });

  it("an invalid prefix is an error of the prefix and of the generated name", () => {
    const meta = { name: "Bad_s64jr", generateName: "Bad_" };
    const errors = validateObjectMeta(meta, {
      requiresNamespace: false,
      validateName: nameIsDNSSubdomain,
      path: "metadata",
    });
    expect(errors.map(({ field }) => field)).toEqual(["metadata.generateName", "metadata.name"]);
  });

  it.each([
    [262_144, 0],
    [262_145, 1],
  ])("annotations of %i bytes give %i errors", (bytes, count) => {
    const annotations = { k: "v".repeat(bytes - 1) };
    const errors = validateObjectMeta(
      { name: "x", annotations },
      { requiresNamespace: false, validateName: nameIsPathSegment, path: "metadata" },
    );
    expect(errors).toHaveLength(count);
    if (count === 1) expect(errors[0]?.message).toBe("Too long: may not be more than 262144 bytes");
  });
});

describe("object metadata on update", () => {
  const updates = cases.filter(({ kind }) => kind === "update");

  it.each(updates)("$id is judged as upstream does", ({ new: newMeta, old, errors }) => {
    const found = validateObjectMetaUpdate(terminating(newMeta), terminating(old), pathOf(errors));
    expect(sorted(found)).toEqual(sorted(errors.map(({ type, field, message }) => ({ type, field, message }))));
  });

  it.each(updates.filter(({ errors }) => errors.length === 0))(
    "$id restores nothing",
    ({ new: newMeta, old, newAfter }) => {
      expect(restoreImmutableMeta(newMeta, old)).toEqual(newAfter);
    },
  );

  it("puts back what a client cannot change", () => {
    const old: ObjectMeta = {
      name: "x",
      uid: "u1",
      creationTimestamp: "2023-11-14T22:13:20Z",
      deletionTimestamp: "2023-11-14T22:30:00Z",
      deletionGracePeriodSeconds: 0,
    };
    const changed: ObjectMeta = {
      name: "x",
      creationTimestamp: null,
      deletionTimestamp: "2030-01-01T00:00:00Z",
      labels: { a: "b" },
    };
    expect(restoreImmutableMeta(changed, old)).toEqual({ ...old, labels: { a: "b" } });
  });

  it("keeps another uid, so that the caller can answer with a conflict", () => {
    expect(restoreImmutableMeta({ uid: "u2" }, { uid: "u1" }).uid).toBe("u2");
  });
});
