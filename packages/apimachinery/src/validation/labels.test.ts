import { describe, expect, it } from "vitest";
import { TOTAL_LABEL_SIZE_LIMIT, validateAnnotations, validateLabels } from "./labels.ts";

const entries = (count: number, key: (at: number) => string, value: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [key(at), value]));

describe("the work on a map of labels or annotations", () => {
  it("ends before the syntax of labels that are too large in all", () => {
    const faults = validateLabels(
      entries(120_000, (at) => `-${at}-name`, "-bad value-"),
      "metadata.labels",
    );
    expect(faults).toEqual([
      {
        type: "FieldValueTooLong",
        field: "metadata.labels",
        message: `Too long: may not be more than ${TOTAL_LABEL_SIZE_LIMIT} bytes`,
      },
    ]);
  });

  it("stops after a hundred errors", () => {
    const bad = entries(5_000, (at) => `-${at}`, "-");
    expect(validateLabels(bad, "metadata.labels").length).toBeLessThan(110);
    expect(validateAnnotations(bad, "metadata.annotations").length).toBeLessThan(110);
  });

  it("accepts as many labels as fit, and reports errors as usual", () => {
    expect(
      validateLabels(
        entries(2_000, (at) => `name-${at}`, "value"),
        "metadata.labels",
      ),
    ).toEqual([]);
    expect(validateLabels({ "-a": "b", c: "-" }, "metadata.labels")).toHaveLength(2);
  });
});
