// A link into the documentation that the server serves, beside the page.

import type { ReactNode } from "react";

/** `label`: where the children are no text. */
export function DocsLink(props: {
  readonly to: string;
  readonly className?: string;
  readonly label?: string;
  readonly children: ReactNode;
}) {
  const { to, className, label, children } = props;
  return (
    <a href={to} className={className} aria-label={label} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}
