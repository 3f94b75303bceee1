// The column with the creation time of an object, which most tables have.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Column } from "./data-table.tsx";
import { Time } from "./time.tsx";

/** Room for a relative time, such as "45 minutes ago". */
export const TIME_WIDTH = "132px";

/** `objectOf`: the object of a row. */
export function createdColumn<T>(header: string, objectOf: (row: T) => Pick<KubeObject, "metadata">): Column<T> {
  const timeOf = (row: T) => objectOf(row).metadata.creationTimestamp;
  return {
    id: "created",
    header,
    width: TIME_WIDTH,
    from: "wide",
    sortBy: (row) => timeOf(row) ?? "",
    cell: (row) => <Time at={timeOf(row)} otherwise="" />,
  };
}
