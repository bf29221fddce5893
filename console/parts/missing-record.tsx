import { useWorkspace } from '../api/workspace.ts'
import { useTexts } from '../texts/texts.tsx'

/** Of a record that is not there. The server does not tell which organization has it, and somebody may be in several. */
export function MissingRecord({ children }: { children: string }) {
  const { records } = useTexts()
  const { organizations } = useWorkspace()
  return (
    <p>
      {children} {organizations.length > 1 && records.elsewhere}
    </p>
  )
}
