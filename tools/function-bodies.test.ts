import { describe, expect, it } from "vitest";
import { bodiesOf } from "./function-bodies.ts";

/** A function of 12 lines, whose first variable has the name. */
const functionWith = (name: string, { comment = "", text = '"a"', operator = "+" } = {}): string => `
function sum(values: readonly number[]): string {
  let ${name} = 0;
  ${comment}
  for (const value of values) {
    if (value < 0) {
      continue;
    }
    ${name} = ${name} ${operator} value;
    ${name} *= 2;
  }
  const shown = ${name}.toFixed(2);
  const label = ${text};
  return label + shown;
}
`;

const shapesOf = (source: string): readonly string[] => bodiesOf("some/file.ts", source).map(({ shape }) => shape);

describe("the shape of a function", () => {
  const [shape] = shapesOf(functionWith("total"));

  it("does not depend on names, texts and comments", () => {
    expect(shape).toBeDefined();
    expect(shapesOf(functionWith("amount", { comment: "// Other words.", text: '"b"' }))).toEqual([shape]);
  });

  it("depends on what the function does", () => {
    expect(shapesOf(functionWith("total", { operator: "-" }))).not.toEqual([shape]);
    expect(shapesOf(functionWith("total", { text: "values.length" }))).not.toEqual([shape]);
  });

  it("depends on which names are the same", () => {
    expect(shapesOf(functionWith("total").replace("total *= 2", "values.length"))).not.toEqual([shape]);
  });

  it("is not made of short functions", () => {
    expect(shapesOf("function one(): number {\n  return 1;\n}\n".repeat(10))).toEqual([]);
  });

  it("says where the function begins", () => {
    expect(bodiesOf("some/file.ts", functionWith("total"))[0]?.place).toBe("some/file.ts:2");
  });
});
