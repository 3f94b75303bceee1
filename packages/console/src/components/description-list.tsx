// Names and values of one object.

import type { ReactNode } from "react";

/** Names and values of one object, as a list. */
export function DescriptionList({
  items,
}: {
  readonly items: readonly (readonly [label: string, value: ReactNode])[];
}) {
  return (
    <dl className="description-list">
      {items.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
