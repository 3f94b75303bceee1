// The text in place of an empty list.

import type { ReactNode } from "react";

/** Explains what an empty list is for, and how to fill it. */
export function EmptyState(props: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}) {
  const { title, children, actions } = props;
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {actions !== undefined && <div className="actions">{actions}</div>}
    </div>
  );
}
