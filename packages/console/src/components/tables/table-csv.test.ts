import { expect, it } from "vitest";
import { csvOf } from "./table-csv.ts";

const COLUMNS = [
  {
    id: "name",
    header: "Name",
    sortBy: ({ name }: { readonly name: string }) => name.toLowerCase(),
    text: ({ name }: { readonly name: string }) => name,
  },
  { id: "count", header: "Count, in all", sortBy: () => 3 },
];

it("writes the texts of cells, quoted where that is needed", () => {
  expect(csvOf(COLUMNS, [{ name: "Shop" }, { name: 'a "b", c' }])).toBe(
    'Name,"Count, in all"\r\nShop,3\r\n"a ""b"", c",3\r\n',
  );
});

it.each(["=1+1", "+1", "-1", "@x"])("keeps a spreadsheet from running %s", (name) => {
  expect(csvOf(COLUMNS, [{ name }])).toContain(`\r\n'${name},3`);
});
