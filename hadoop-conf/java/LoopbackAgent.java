import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Binds to 127.0.0.1 every socket of this JVM that asks for "all addresses".
 *
 * Most daemons take their address from the site files. The shuffle handler of the NodeManager
 * and the three ports of a MapReduce application master do not: Hadoop 3.4 binds them to 0.0.0.0
 * and has no property for it. The JDK passes every bind through sun.nio.ch.Net.bind, so there, and
 * only there, a wildcard address becomes the loopback address.
 */
public final class LoopbackAgent implements ClassFileTransformer {
  private static final String TARGET = "sun/nio/ch/Net";
  private static final Type ADDRESS = Type.getObjectType("java/net/InetAddress");

  public static void premain(String arguments, Instrumentation jvm) throws Exception {
    jvm.addTransformer(new LoopbackAgent(), true);
    jvm.retransformClasses(Class.forName(TARGET.replace('/', '.')));
  }

  @Override
  public byte[] transform(
      ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] code) {
    if (!TARGET.equals(name)) {
      return null;
    }
    ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
    new ClassReader(code).accept(new BindFinder(writer), 0);
    return writer.toByteArray();
  }

  /** Finds the methods named bind that take an InetAddress. */
  private static final class BindFinder extends ClassVisitor {
    BindFinder(ClassVisitor next) {
      super(Opcodes.ASM9, next);
    }

    @Override
    public MethodVisitor visitMethod(int access, String name, String type, String s, String[] e) {
      MethodVisitor next = super.visitMethod(access, name, type, s, e);
      int slot = (access & Opcodes.ACC_STATIC) == 0 ? 1 : 0;
      for (Type argument : Type.getArgumentTypes(type)) {
        if (name.equals("bind") && argument.equals(ADDRESS)) {
          return new WildcardToLoopback(next, slot);
        }
        slot += argument.getSize();
      }
      return next;
    }
  }

  /** Opens a method with: if (address.isAnyLocalAddress()) address = getLoopbackAddress(). */
  private static final class WildcardToLoopback extends MethodVisitor {
    private final int slot;

    WildcardToLoopback(MethodVisitor next, int slot) {
      super(Opcodes.ASM9, next);
      this.slot = slot;
    }

    @Override
    public void visitCode() {
      super.visitCode();
      String owner = ADDRESS.getInternalName();
      Label rest = new Label();
      visitVarInsn(Opcodes.ALOAD, slot);
      visitMethodInsn(Opcodes.INVOKEVIRTUAL, owner, "isAnyLocalAddress", "()Z", false);
      visitJumpInsn(Opcodes.IFEQ, rest);
      visitMethodInsn(
          Opcodes.INVOKESTATIC, owner, "getLoopbackAddress", "()" + ADDRESS.getDescriptor(), false);
      visitVarInsn(Opcodes.ASTORE, slot);
      visitLabel(rest);
      visitFrame(Opcodes.F_SAME, 0, null, 0, null);
      visitInsn(Opcodes.NOP);
    }
  }
}
