// The checks of a test, each with whether it holds.

import { Check, CircleHelp, X } from "lucide-react";

export type ShownCheck = {
  readonly type?: string;
  readonly field?: string;
  readonly status?: string;
  readonly message?: string;
};

const MARKS = {
  True: <Check aria-hidden="true" className="lucide yes" />,
  False: <X aria-hidden="true" className="lucide no" />,
} as const;

export function CheckList({ checks }: { readonly checks: readonly ShownCheck[] }) {
  return (
    <ul className="lines">
      {checks.map(({ type, field, status, message }) => (
        <li key={`${type} ${field}`}>
          <span>
            {status === "True" || status === "False" ? (
              MARKS[status]
            ) : (
              <CircleHelp aria-hidden="true" className="lucide" />
            )}{" "}
            {type} {field !== undefined && field !== "" && <code>{field}</code>}
          </span>
          <span className="muted">{message}</span>
        </li>
      ))}
    </ul>
  );
}
