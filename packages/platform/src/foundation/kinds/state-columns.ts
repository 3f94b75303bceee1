// Columns that show why an object is not ready.

import type { PrinterColumn } from "@postern/apiserver/registry/resource-definition";

const stateColumn = (name: "Reason" | "Message", description: string): PrinterColumn => ({
  name,
  type: "string",
  priority: 1,
  description,
  value: `.status.${name.toLowerCase()}`,
});

export const stateColumns: readonly PrinterColumn[] = [
  stateColumn("Reason", "Reason why it is not ready."),
  stateColumn("Message", "Message about why it is not ready."),
];
