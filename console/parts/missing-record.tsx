import { useWorkspace } from '../api/workspace.ts'
import { useTexts } from '../texts/texts.tsx'

/**
 * The notice about a record that does not exist here. The server does not reveal which organization has it, and a person may
 * belong to several.
 */
export function MissingRecord({ children }: { children: string }) {
  const { records } = useTexts()
  const { organizations } = useWorkspace()
  return (
    <p>
      {children} {organizations.length > 1 && records.elsewhere}
    </p>
  )
}
