// Names and values of one object.

import type { ReactNode } from "react";

type Item = readonly [label: string, value: ReactNode];

/** `false` is left out. */
export function DescriptionList({ items }: { readonly items: readonly (Item | false)[] }) {
  return (
    <dl className="description-list">
      {items
        .filter((item) => item !== false)
        .map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export const DescriptionCard = (props: Parameters<typeof DescriptionList>[0]) => (
  <div className="card">
    <DescriptionList {...props} />
  </div>
);
